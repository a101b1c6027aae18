#include "client/work_verbs.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "client/common_options.hpp"

namespace sbx::client {

bool write_to(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::string status_words(proto::run_status status, const std::optional<proto::exit_info>& exit) {
  if (status == proto::run_status::running || !exit) return "running";
  const std::string outcome(proto::word(exit->outcome));
  if (exit->outcome == proto::outcome::exited) return outcome + " " + std::to_string(exit->code.value_or(0));
  return exit->signal ? outcome + " " + *exit->signal : outcome;
}

std::string command_words(const std::optional<std::string>& command,
                          const std::optional<std::vector<proto::c_bytes>>& argv) {
  if (command) return printable(*command);
  std::string out;
  for (const auto& word : argv.value_or(std::vector<proto::c_bytes>()))
    out += (out.empty() ? "" : " ") + printable(shell_quote(word.value));
  return out;
}

std::string signal_name(std::string_view given) {
  std::string name(given);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return name.starts_with("SIG") ? name : "SIG" + name;
}

void log_window::describe(options& o) {
  o.number("--offset", offset, "Where to begin (default: 0)", "BYTES");
  o.size("--max-bytes", max_bytes, "At most so many");
  o.duration("--wait", wait_ms, "Wait so long for the first byte");
}

proto::read_window log_window::window() const {
  proto::read_window made;
  if (offset) made.offset = *offset;
  if (max_bytes) made.max_bytes = *max_bytes;
  made.wait_ms = wait_ms;
  return made;
}

int show_read(app& a, const outcome<reply<proto::log_read_result>>& answer) {
  if (!answer) return a.print_failure(answer.error());
  if (a.json()) return a.print_json(*answer->raw);
  if (answer->value.lost_bytes > 0) a.note("output was lost: " + format_size(answer->value.lost_bytes) + ".");
  return write_to(STDOUT_FILENO, answer->value.content.bytes) ? 0 : exit_error;
}

int show_wait(app& a, const outcome<reply<proto::wait_result>>& answer) {
  if (!answer) return a.print_failure(answer.error());
  const auto& found = answer->value;
  const int code = found.exit ? exit_code_of(*found.exit) : exit_timed_out;
  const int printed = a.json() ? a.print_json(*answer->raw) : a.print(status_words(found.status, found.exit) + "\n");
  return printed == 0 ? code : printed;
}

namespace {

outcome<void> write_pieces(std::string bytes, bool last, const write_piece& write) {
  do {
    auto answer = write(bytes, last);
    if (!answer) return fail(std::move(answer.error()));
    const auto accepted =
        std::min(bytes.size(), static_cast<std::size_t>(std::max<std::int64_t>(0, answer->value.accepted_bytes)));
    bytes.erase(0, accepted);
  } while (!bytes.empty());
  return {};
}

}  // namespace

int write_input(app& a, const std::vector<std::string>& words, const write_piece& write, bool send_empty) {
  constexpr std::size_t piece_bytes = 256 * 1024;
  if (words.size() > 1) {
    auto done = write_pieces(words[1], true, write);
    return done ? 0 : a.print_failure(done.error());
  }
  std::string bytes(piece_bytes, '\0');
  while (true) {
    const ssize_t size = ::read(STDIN_FILENO, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return a.print_failure(system_failure(errno, "Reading stdin"));
    if (size == 0 && !send_empty) return 0;
    auto done = write_pieces(bytes.substr(0, static_cast<std::size_t>(size)), size == 0, write);
    if (!done) return a.print_failure(done.error());
    if (size == 0) return 0;
  }
}

}  // namespace sbx::client
