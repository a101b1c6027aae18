#include "daemon/process/feeder.hpp"

#include <unistd.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <string_view>

namespace sbx::process {

namespace asio = async::asio;

async::task<void> feed_pipe(async::strand strand, sys::unique_fd to, std::string data) {
  asio::posix::stream_descriptor pipe(strand, to.release());
  std::string_view left(data);
  while (!left.empty()) {
    const ssize_t written = ::write(pipe.native_handle(), left.data(), left.size());
    if (written > 0) {
      left.remove_prefix(static_cast<std::size_t>(written));
      continue;
    }
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno != EAGAIN) co_return;
    boost::system::error_code failed;
    co_await pipe.async_wait(asio::posix::descriptor_base::wait_write,
                             asio::redirect_error(asio::use_awaitable, failed));
    if (failed) co_return;
  }
}

}  // namespace sbx::process
