#include "daemon/sandbox/image.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace sbx::sandbox {
namespace {

constexpr std::size_t tar_block = 512;

// An octal field of a tar header, ended by NUL or blank.
std::size_t octal(std::string_view field) {
  std::size_t value = 0;
  for (const char digit : field) {
    if (digit < '0' || digit > '7') break;
    value = value * 8 + static_cast<std::size_t>(digit - '0');
  }
  return value;
}

std::size_t padded(std::size_t size) {
  return (size + tar_block - 1) / tar_block * tar_block;
}

}  // namespace

const char* const image_format =
    R"({{.Id}}{{"\x00"}}{{.Os}}{{"\x00"}}{{.Architecture}}{{"\x00"}}{{.Config.User}}{{"\x00"}})"
    R"({{range .Config.Env}}{{.}}{{"\x00"}}{{end}})";

std::optional<image_info> parse_image(std::string_view answer) {
  std::vector<std::string> fields;
  for (auto end = answer.find('\0'); end != std::string_view::npos; end = answer.find('\0')) {
    fields.emplace_back(answer.substr(0, end));
    answer.remove_prefix(end + 1);
  }
  if (fields.size() < 4 || fields[0].empty()) return std::nullopt;
  image_info info;
  info.id = std::move(fields[0]);
  info.os = std::move(fields[1]);
  info.architecture = std::move(fields[2]);
  info.user = std::move(fields[3]);
  for (std::size_t i = 4; i < fields.size(); ++i)
    if (const auto equals = fields[i].find('='); equals != std::string::npos && equals != 0)
      info.env.push_back(std::move(fields[i]));
  return info;
}

std::optional<std::string> first_file_of_tar(std::string_view stream) {
  while (stream.size() >= tar_block && stream[0] != '\0') {
    const std::size_t size = octal(stream.substr(124, 12));
    const char type = stream[156];
    stream.remove_prefix(tar_block);
    if (size > stream.size()) return std::nullopt;
    if (type == '0' || type == '\0') return std::string(stream.substr(0, size));
    if (type != 'x' && type != 'g' && type != 'L') return std::nullopt;  // extended headers come before their file
    stream.remove_prefix(std::min(padded(size), stream.size()));
  }
  return std::nullopt;
}

bool runs_here(std::string_view architecture, std::string_view machine) {
  constexpr auto known = std::to_array<std::pair<std::string_view, std::string_view>>({
      {"amd64", "x86_64"},
      {"386", "x86_64"},
      {"arm64", "aarch64"},
      {"arm", "aarch64"},
      {"arm", "armv7l"},
      {"riscv64", "riscv64"},
      {"ppc64le", "ppc64le"},
      {"s390x", "s390x"},
  });
  bool is_known = false;
  for (const auto& [name, runs_on] : known) {
    if (name != architecture) continue;
    if (runs_on == machine) return true;
    is_known = true;
  }
  return !is_known;
}

bool pull_progress::add(std::string_view output) {
  const auto before = std::pair(done_, total_);
  rest_.append(output);
  for (auto end = rest_.find_first_of("\r\n"); end != std::string::npos; end = rest_.find_first_of("\r\n")) {
    add_line(std::string_view(rest_).substr(0, end));
    rest_.erase(0, end + 1);
  }
  if (rest_.size() > 4096) rest_.clear();
  return before != std::pair(done_, total_);
}

void pull_progress::add_line(std::string_view line) {
  const auto says = [&](std::string_view part) { return line.find(part) != std::string_view::npos; };
  if (!line.empty()) last_line_ = line.substr(0, 200);
  if (says(": Pulling fs layer") || says("Copying blob") || says(": Already exists")) ++total_;
  if (says(": Pull complete") || says(": Already exists") ||
      (says("Copying blob") && (says(" done") || says("skipped"))))
    ++done_;
}

}  // namespace sbx::sandbox
