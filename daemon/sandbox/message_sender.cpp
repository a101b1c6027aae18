#include "daemon/sandbox/message_sender.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "daemon/sys/message_socket.hpp"

namespace sbx::sandbox {

namespace asio = async::asio;

void message_sender::send(std::shared_ptr<void> owner, std::string bytes, std::vector<sys::unique_fd> fds) {
  const bool flushing = !queue_.empty();
  queue_.emplace_back(std::move(bytes), std::move(fds));
  if (flushing || send_front()) return;
  tasks_.spawn("messages to an init", flush(std::move(owner)));
}

// False when it has to wait for room.
bool message_sender::send_front() {
  entry& front = queue_.front();
  const std::vector<sys::fd_ref> lent(front.fds.begin(), front.fds.end());
  const auto sent = sys::send_now(sys::fd_ref(socket_.native_handle()), front.bytes, lent);
  if (!sent) {
    queue_.clear();
    return true;
  }
  if (*sent == 0) return false;
  front.fds.clear();
  front.bytes.erase(0, *sent);
  if (!front.bytes.empty()) return false;
  queue_.pop_front();
  return true;
}

async::task<void> message_sender::flush(std::shared_ptr<void> owner) {
  while (!queue_.empty()) {
    if (send_front()) continue;
    boost::system::error_code failed;
    co_await socket_.async_wait(asio::posix::descriptor_base::wait_write,
                                asio::redirect_error(asio::use_awaitable, failed));
    if (failed) queue_.clear();
  }
  owner.reset();
}

}  // namespace sbx::sandbox
