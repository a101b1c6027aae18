#include "daemon/rpc/channel.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <cstring>
#include <utility>

namespace sbx::rpc {

namespace {

namespace asio = async::asio;

// One beyond what a frame may carry, so that too many are told from none.
constexpr std::size_t fds_received_max = frame_fds_max + 1;

// One a thread, not one a connection: bytes leave it before anything is awaited.
thread_local std::array<char, 128 * 1024> receive_buffer;

union control_buffer {
  control_buffer() { std::memset(bytes, 0, sizeof bytes); }
  cmsghdr align;
  char bytes[CMSG_SPACE(sizeof(int) * fds_received_max)];
};

// A connection to this very daemon that the daemon held would keep itself alive for ever.
bool leads_to_ourselves(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid == ::getpid();
}

fd_bundle take_fds(msghdr& message) {
  fd_bundle bundle;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(c) + i * sizeof(int), sizeof number);
      bundle.fds.emplace_back(number);
      if (leads_to_ourselves(number)) bundle.fds.back().reset();  // its place in the count stays
    }
  }
  bundle.too_many = bundle.fds.size() > frame_fds_max;
  bundle.lost = !bundle.too_many && (message.msg_flags & MSG_CTRUNC) != 0;
  return bundle;
}

bool is_again(int number) {
  return number == EAGAIN || number == EWOULDBLOCK;
}

}  // namespace

channel::channel(asio::any_io_executor strand, sys::unique_fd socket)
    : socket_(strand, asio::local::stream_protocol(), socket.release()) {}

channel::received channel::receive() {
  iovec part{receive_buffer.data(), receive_buffer.size()};
  control_buffer control;
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof control.bytes;
  ssize_t count = 0;
  do count = ::recvmsg(socket_.native_handle(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  while (count < 0 && errno == EINTR);
  received got;
  if (count <= 0) {
    got.how = count < 0 && is_again(errno) ? io::would_block : io::ended;
    if (count == 0) take_fds(message);
    return got;
  }
  got.how = io::done;
  got.bytes = std::string_view(receive_buffer.data(), static_cast<std::size_t>(count));
  got.filled = got.bytes.size() == receive_buffer.size();
  got.bundle = take_fds(message);
  return got;
}

channel::sent channel::send(std::string_view bytes, const std::vector<sys::unique_fd>& fds) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  control_buffer control;
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control.bytes;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
    cmsghdr* c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
    for (std::size_t i = 0; i < fds.size(); ++i) {
      const int number = fds[i].get();
      std::memcpy(CMSG_DATA(c) + i * sizeof(int), &number, sizeof number);
    }
  }
  ssize_t count = 0;
  do count = ::sendmsg(socket_.native_handle(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  while (count < 0 && errno == EINTR);
  sent result;
  if (count >= 0)
    result.count = static_cast<std::size_t>(count);
  else
    result.how = is_again(errno) || errno == ETOOMANYREFS ? io::would_block : io::ended;
  return result;
}

async::task<void> channel::wait(asio::local::stream_protocol::socket::wait_type what) {
  auto pending = socket_.async_wait(what, asio::as_tuple(asio::use_awaitable));
  const auto [failure] = co_await std::move(pending);
  (void)failure;
}

async::task<void> channel::wait_readable() {
  return wait(asio::local::stream_protocol::socket::wait_read);
}
async::task<void> channel::wait_writable() {
  return wait(asio::local::stream_protocol::socket::wait_write);
}

async::task<void> channel::wait_gone() {
  while (!gone()) {
    auto pending = wait(asio::local::stream_protocol::socket::wait_error);
    co_await std::move(pending);
  }
}

bool channel::gone() const {
  pollfd probe{const_cast<asio::local::stream_protocol::socket&>(socket_).native_handle(), 0, 0};
  return ::poll(&probe, 1, 0) > 0 && (probe.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
}

void channel::shut_writing() {
  ::shutdown(socket_.native_handle(), SHUT_WR);
}
void channel::shut_both() {
  ::shutdown(socket_.native_handle(), SHUT_RDWR);
}

}  // namespace sbx::rpc
