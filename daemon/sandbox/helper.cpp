#include "daemon/sandbox/helper.hpp"

#include <fcntl.h>
#include <signal.h>

#include <array>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace sbx::sandbox {
namespace {

namespace asio = async::asio;
using asio::posix::stream_descriptor;

async::task<bool> readable(stream_descriptor& descriptor) {
  boost::system::error_code failed;
  co_await descriptor.async_wait(stream_descriptor::wait_read, asio::redirect_error(asio::use_awaitable, failed));
  co_return !failed;
}

}  // namespace

void helper::kill() {
  if (!ended_.is_set()) sys::send_signal(child_.pidfd, SIGKILL);
}

void pipe_reader::add(std::string_view bytes) {
  if (told_) told_(bytes);
  if (keep_ == keep::last) {
    text_.append(bytes);
    if (text_.size() <= bytes_max_) return;
    text_.erase(0, text_.size() - bytes_max_);
    cut_ = true;
    return;
  }
  const auto room = bytes_max_ - text_.size();
  text_.append(bytes.substr(0, room));
  cut_ = cut_ || bytes.size() > room;
}

helper_keeper::helper_keeper(asio::io_context& context)
    : context_(context), strand_(context.get_executor()), tasks_(strand_) {}

result<std::shared_ptr<helper>> helper_keeper::start(const sys::child_setup& setup) {
  auto started = sys::start_child(setup);
  if (!started) return fail(std::move(started.error()));
  const int watched = ::fcntl(started->pidfd.get(), F_DUPFD_CLOEXEC, 0);
  auto program = std::make_shared<helper>(std::move(*started));
  const auto reap = [](std::shared_ptr<helper> who, stream_descriptor pidfd) -> async::task<void> {
    auto waiting = readable(pidfd);
    co_await std::move(waiting);
    who->status_ = sys::reap(who->child_.pidfd).value_or(0);
    who->ended_.set();
  };
  tasks_.spawn("reaping a helper", reap(program, stream_descriptor(context_, watched)));
  return program;
}

std::shared_ptr<pipe_reader> helper_keeper::read(sys::unique_fd pipe, std::shared_ptr<pipe_reader> reader) {
  ::fcntl(pipe.get(), F_SETFL, ::fcntl(pipe.get(), F_GETFL) | O_NONBLOCK);
  const auto drain = [](std::shared_ptr<pipe_reader> into, stream_descriptor from) -> async::task<void> {
    std::array<char, 8192> buffer;
    for (;;) {
      auto waiting = readable(from);
      if (!co_await std::move(waiting)) break;
      const ssize_t length = ::read(from.native_handle(), buffer.data(), buffer.size());
      if (length < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (length <= 0) break;
      into->add(std::string_view(buffer.data(), static_cast<std::size_t>(length)));
    }
    into->closed_.set();
  };
  tasks_.spawn("reading a helper's pipe", drain(reader, stream_descriptor(context_, pipe.release())));
  return reader;
}

}  // namespace sbx::sandbox
