#include "daemon/process/bash.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <charconv>

namespace sbx::process {

namespace asio = async::asio;

namespace {

constexpr std::size_t report_bytes_max = 16 * 1024;
constexpr std::size_t between_bytes_max = 1u << 20;
constexpr int drain_rounds = 8;  // a pipe holds at most 1 MiB

std::string random_number() {
  std::array<unsigned char, 16> bytes{};
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = ::getrandom(bytes.data() + have, bytes.size() - have, 0);
    if (got > 0) have += static_cast<std::size_t>(got);
  }
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : bytes) {
    out.push_back(digits[byte >> 4]);
    out.push_back(digits[byte & 15]);
  }
  return out;
}

}  // namespace

// 3 is the script, which bash has opened anew by its name; 4, where the ends are told, goes out of the way of what
// people use. An interrupt ends the line, which is a sourced text, as `return` does.
std::string bash_prologue() {
  return "exec 3<&- 97>&4 4>&-\n"
         "builtin trap 'builtin return 130 2>/dev/null' INT\n";
}

// The line is sourced from a here-document: so it may hold anything, `return` and `break` do no harm, and a syntax
// error is its own. Neither descriptor is open while it runs.
std::string bash_statement(std::string_view line, std::string_view number) {
  std::string out = ". /dev/fd/96 96<<'" + std::string(number) + "' 97>&-\nexec 96<&-; ";
  out.append(line);
  out += "\n" + std::string(number) + "\n";
  out += "{ builtin printf '%s %s %s\\0' " + std::string(number) + " \"$?\" \"$PWD\" >&97; } 2>/dev/null\n";
  return out;
}

std::optional<bash_report> parse_bash_report(std::string_view message) {
  const auto first = message.find(' ');
  if (first == std::string_view::npos) return std::nullopt;
  const auto second = message.find(' ', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  bash_report out;
  out.number = message.substr(0, first);
  const auto code = message.substr(first + 1, second - first - 1);
  const auto [end, wrong] = std::from_chars(code.data(), code.data() + code.size(), out.code);
  if (wrong != std::errc() || end != code.data() + code.size() || out.code < 0 || out.code > 255) return std::nullopt;
  out.cwd = message.substr(second + 1);
  return out;
}

bash::bash(std::shared_ptr<process_tree> process, async::strand strand, sys::unique_fd script, sys::unique_fd reports)
    : process_(std::move(process)),
      script_(strand, script.release()),
      reports_(strand, reports.release()),
      out_(std::make_shared<capture>(between_bytes_max)),
      err_(std::make_shared<capture>(between_bytes_max)) {}

async::task<result<std::shared_ptr<bash>>> bash::start(std::shared_ptr<sandbox::sandbox> box, async::strand strand,
                                                       process::command command) {
  auto script = open_input_pipe();
  auto reports = open_output_pipe();
  auto out = open_output_pipe();
  auto err = open_output_pipe();
  auto null = open_null();
  for (const auto* pipe : {&script, &reports, &out, &err})
    if (!*pipe) co_return fail(pipe->error());
  if (!null) co_return fail(null.error());
  auto process = std::make_shared<process_tree>(std::move(box), strand);
  std::shared_ptr<bash> made(new bash(process, strand, std::move(script->write), std::move(reports->read)));
  start_request request;
  request.command = std::move(command);
  request.command.argv = {"bash", "--noprofile", "--norc", "/dev/fd/3"};
  request.stdin_fd = std::move(*null);
  request.stdout_fd = std::move(out->write);
  request.stderr_fd = std::move(err->write);
  request.extra_fds.push_back(std::move(script->read));
  request.extra_fds.push_back(std::move(reports->write));
  request.outputs.emplace_back(std::move(out->read), made->out_);
  request.outputs.emplace_back(std::move(err->read), made->err_);
  auto starting = process->start(std::move(request));
  const auto begun = co_await std::move(starting);
  if (!begun) co_return fail(begun.error());
  process->tasks().spawn("the end of a shell", made->watch_end());
  process->tasks().spawn("the reports of a shell", made->read_reports());
  made->send(bash_prologue());
  co_return made;
}

async::task<void> bash::watch_end() {
  const auto self = shared_from_this();
  auto finishing = process_->wait_finished();
  co_await std::move(finishing);
  // Its descendants may hold these pipes still.
  boost::system::error_code ignored;
  script_.close(ignored);
  reports_.close(ignored);
  changed_.notify_all();
}

async::task<void> bash::read_reports() {
  const auto self = shared_from_this();
  while (reports_.is_open()) {
    boost::system::error_code failed;
    co_await reports_.async_wait(asio::posix::descriptor_base::wait_read,
                                 asio::redirect_error(asio::use_awaitable, failed));
    if (failed || !reports_.is_open() || !take_messages()) co_return;
  }
}

// False at end-of-file, or when nothing more is wanted.
bool bash::take_messages() {
  std::array<char, 4096> chunk;
  const ssize_t got = ::read(reports_.native_handle(), chunk.data(), chunk.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (got <= 0) return false;
  unread_.append(chunk.data(), static_cast<std::size_t>(got));
  for (auto end = unread_.find('\0'); end != std::string::npos && !lying_; end = unread_.find('\0')) {
    take(std::string_view(unread_).substr(0, end));
    unread_.erase(0, end + 1);
  }
  if (unread_.size() > report_bytes_max) take({});
  return !lying_;
}

void bash::take(std::string_view message) {
  auto report = parse_bash_report(message);
  if (report && !expected_.empty() && report->number == expected_) {
    expected_.clear();
    report_ = std::move(report);
  } else {
    lying_ = true;
    process_->kill(outcome::stopped);
  }
  changed_.notify_all();
}

void bash::send(std::string text) {
  process_->tasks().spawn("the script of a shell", feed(std::move(text)));
}

async::task<void> bash::feed(std::string text) {
  const auto self = shared_from_this();
  std::string_view left(text);
  while (!left.empty() && script_.is_open()) {
    const ssize_t written = ::write(script_.native_handle(), left.data(), left.size());
    if (written > 0) {
      left.remove_prefix(static_cast<std::size_t>(written));
      continue;
    }
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno != EAGAIN) co_return;
    boost::system::error_code failed;
    co_await script_.async_wait(asio::posix::descriptor_base::wait_write,
                                asio::redirect_error(asio::use_awaitable, failed));
    if (failed) co_return;
  }
}

void bash::begin(std::string line, std::size_t output_bytes_max) {
  for (auto* stream : {&out_, &err_}) {
    auto fresh = std::make_shared<capture>(output_bytes_max);
    (*stream)->pour_into(*fresh);
    process_->redirect(*stream, fresh);
    *stream = std::move(fresh);
  }
  report_.reset();
  expected_ = random_number();
  send(bash_statement(line, expected_));
}

void bash::drain() {
  for (int round = 0; round < drain_rounds && !process_->drain_now(); ++round) {
  }
}

}  // namespace sbx::process
