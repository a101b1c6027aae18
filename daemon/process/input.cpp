#include "daemon/process/input.hpp"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>

#include "daemon/async/run.hpp"
#include "daemon/sys/utf8.hpp"

namespace sbx::process {

namespace asio = async::asio;
using clock = std::chrono::steady_clock;

namespace {

constexpr std::size_t turn_bytes = 256 * 1024;  // then others get a turn

// The length of the longest part of `data`, at most `most`, that ends with a whole character. What is no text is cut
// anywhere.
std::size_t whole_characters(std::string_view data, std::size_t most) {
  if (data.size() <= most) return data.size();
  const auto part = data.substr(0, most);
  for (std::size_t back = 1; back <= 3 && back < part.size(); ++back) {
    const auto tail = part.substr(part.size() - back);
    const auto cut = sys::check_utf8(tail);
    if (cut.valid_bytes == 0 && cut.incomplete_tail == back) return part.size() - back;
  }
  return part.size();
}

}  // namespace

error nobody_reads() {
  error e(error_kind::io, "the command does not read its input any more");
  e.number = EPIPE;
  return std::move(e).with("errno", std::string("EPIPE"));
}

input::input(async::strand strand, sys::unique_fd to, input_kind kind) : target_(strand, to.release()), kind_(kind) {}

sys::fd_ref input::fd() {
  return target_.is_open() ? sys::fd_ref(target_.native_handle()) : sys::fd_ref();
}

void input::close() {
  boost::system::error_code ignored;
  if (target_.is_open()) target_.close(ignored);
}

result<std::size_t> input::put(std::string_view data) {
  for (;;) {
    const ssize_t written = ::write(target_.native_handle(), data.data(), data.size());
    if (written >= 0) return static_cast<std::size_t>(written);
    if (errno == EAGAIN) return std::size_t{0};
    if (errno == EPIPE || errno == EIO) return fail(nobody_reads());
    if (errno != EINTR) return fail_system(errno, "writing to a command");
  }
}

// A pipe takes pieces of up to PIPE_BUF bytes whole or not at all. A terminal does not: what is left of a character
// that it took in part is owed to it.
result<std::size_t> input::put_characters(std::string_view data) {
  const std::size_t part = whole_characters(data, PIPE_BUF);
  auto taken = put(data.substr(0, part));
  if (!taken || *taken == 0 || *taken == part) return taken;
  const std::size_t whole = whole_characters(data.substr(0, part), *taken);
  if (whole == *taken) return taken;
  const std::size_t length = sys::character_length(data.substr(whole));
  owed_ = data.substr(*taken, whole + length - *taken);
  return whole + length;
}

// True when nothing is owed any more.
bool input::settle_debt() {
  if (owed_.empty()) return true;
  const auto taken = put(owed_);
  owed_.erase(0, taken ? *taken : owed_.size());
  return owed_.empty();
}

result<std::size_t> input::write_now(std::string_view data, reading how) {
  std::size_t done = 0;
  while (done < data.size() && done < turn_bytes) {
    if (!settle_debt()) break;
    const auto rest = data.substr(done);
    const auto taken = how == reading::text ? put_characters(rest) : put(rest);
    if (!taken && done == 0) return fail(taken.error());
    if (!taken || *taken == 0) break;
    done += *taken;
  }
  return done;
}

async::task<void> input::wait_for_room() {
  boost::system::error_code failed;
  co_await target_.async_wait(asio::posix::descriptor_base::wait_write,
                              asio::redirect_error(asio::use_awaitable, failed));
}

async::task<result<std::size_t>> input::write(std::string data, reading how, std::chrono::milliseconds wait) {
  const auto self = shared_from_this();
  const auto give_up = clock::now() + wait;
  std::size_t done = 0;
  for (;;) {
    if (!target_.is_open()) {
      if (done > 0) co_return done;
      co_return fail(nobody_reads());
    }
    const auto taken = write_now(std::string_view(data).substr(done), how);
    if (!taken) {
      if (done > 0) co_return done;
      co_return fail(taken.error());
    }
    done += *taken;
    if (done == data.size()) co_return done;
    const auto now = clock::now();
    if (now >= give_up && *taken < turn_bytes) co_return done;
    auto waiting = wait_for_room();
    auto limited = async::with_deadline(std::move(waiting),
                                        std::max<clock::duration>(give_up - now, std::chrono::milliseconds(1)));
    const bool there_is_room = co_await std::move(limited);
    if (!there_is_room && clock::now() >= give_up) co_return done;
  }
}

}  // namespace sbx::process
