#include "daemon/sys/cgroup.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <vector>

namespace sbx::sys {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return parts;
}

bool lists(std::string_view list, std::string_view word) {
  for (const auto part : split(list, ','))
    if (part == word) return true;
  return false;
}

// A group's directory: its path below the mounted one. mountinfo(5): id parent dev root mountpoint options… - type
// source super
std::string mounted_at(std::string_view mountinfo, std::string_view type, std::string_view controller,
                       std::string_view path) {
  for (const auto line : split(mountinfo, '\n')) {
    const auto dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    const auto before = split(line.substr(0, dash), ' ');
    const auto after = split(line.substr(dash + 3), ' ');
    if (before.size() < 5 || after.size() < 3 || after[0] != type) continue;
    if (!controller.empty() && !lists(after[2], controller)) continue;
    const auto root = before[3];
    if (root != "/" && path.starts_with(root)) path.remove_prefix(root.size());
    return std::string(before[4]) + std::string(path == "/" ? "" : path);
  }
  return {};
}

std::string read_text(const std::string& path) {
  const unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> buffer;
  for (ssize_t length = 0;
       file && (length = ::read(file.get(), buffer.data(), buffer.size())) > 0 && text.size() < (1U << 20);)
    text.append(buffer.data(), static_cast<std::size_t>(length));
  return text;
}

std::string read_again(fd_ref file) {
  std::string text(4096, '\0');
  const ssize_t length = file ? ::pread(file.get(), text.data(), text.size(), 0) : 0;
  text.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  return text;
}

// "name value" lines, as in memory.events and memory.oom_control.
std::optional<std::int64_t> value_of(std::string_view text, std::string_view name) {
  for (const auto line : split(text, '\n')) {
    const auto words = split(line, ' ');
    std::int64_t value = 0;
    if (words.size() != 2 || words[0] != name) continue;
    if (std::from_chars(words[1].data(), words[1].data() + words[1].size(), value).ec == std::errc()) return value;
  }
  return std::nullopt;
}

unique_fd open_file(const std::string& directory, const char* name) {
  return unique_fd(directory.empty() ? -1 : ::open((directory + "/" + name).c_str(), O_RDONLY | O_CLOEXEC));
}

}  // namespace

cgroup_paths find_cgroups(std::string_view process_cgroup, std::string_view mountinfo) {
  cgroup_paths found;
  std::string_view unified;
  for (const auto line : split(process_cgroup, '\n')) {
    const auto first = line.find(':');
    const auto second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const auto controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    if (controllers.empty()) unified = path;
    if (lists(controllers, "memory")) found.memory = mounted_at(mountinfo, "cgroup", "memory", path);
    if (lists(controllers, "freezer")) found.freezer = mounted_at(mountinfo, "cgroup", "freezer", path);
  }
  if (unified.empty()) return found;
  found.memory_unified = found.memory.empty();
  found.freezer_unified = found.freezer.empty();
  if (found.memory_unified) found.memory = mounted_at(mountinfo, "cgroup2", "", unified);
  if (found.freezer_unified) found.freezer = mounted_at(mountinfo, "cgroup2", "", unified);
  return found;
}

cgroup cgroup::of(pid_t pid) {
  const auto paths =
      find_cgroups(read_text("/proc/" + std::to_string(pid) + "/cgroup"), read_text("/proc/self/mountinfo"));
  cgroup group;
  group.oom_file_ = open_file(paths.memory, paths.memory_unified ? "memory.events" : "memory.oom_control");
  group.freeze_file_ = open_file(paths.freezer, paths.freezer_unified ? "cgroup.events" : "freezer.state");
  return group;
}

std::optional<std::int64_t> cgroup::oom_kills() const {
  return value_of(read_again(oom_file_), "oom_kill");
}

bool cgroup::frozen() const {
  const auto text = read_again(freeze_file_);
  return text.starts_with("FROZEN") || text.starts_with("FREEZING") || value_of(text, "frozen") == 1;
}

}  // namespace sbx::sys
