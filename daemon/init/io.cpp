#include "daemon/init/io.hpp"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace sbx::init {

namespace {

void take_descriptors(msghdr& message, received& out) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const int count = static_cast<int>((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    for (int i = 0; i < count; ++i) {
      int fd;
      memcpy(&fd, CMSG_DATA(c) + static_cast<std::size_t>(i) * sizeof(int), sizeof fd);
      if (out.fd_count < static_cast<int>(wire::spawn_fds_max)) {
        out.fds[out.fd_count++] = fd;
      } else {
        close(fd);
      }
    }
  }
}

}  // namespace

receive_result receive_header(int socket, received& out) {
  out.fd_count = 0;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * wire::spawn_fds_max)];
  iovec part = {&out.head, sizeof out.head};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got;
  do got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  while (got < 0 && errno == EINTR);
  if (got < 0) return errno == EAGAIN ? receive_result::again : receive_result::ended;
  if (got == 0) return receive_result::ended;
  take_descriptors(message, out);
  const std::size_t have = static_cast<std::size_t>(got);
  if (have < sizeof out.head &&
      !receive_exactly(socket, reinterpret_cast<char*>(&out.head) + have, sizeof out.head - have))
    return receive_result::ended;
  return receive_result::ok;
}

bool receive_exactly(int socket, void* into, std::size_t bytes) {
  char* at = static_cast<char*>(into);
  while (bytes > 0) {
    const ssize_t got = recv(socket, at, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      pollfd wait = {socket, POLLIN, 0};
      poll(&wait, 1, -1);
      continue;
    }
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

void send_message(int socket, wire::message type, std::uint32_t serial, const void* part, std::size_t bytes,
                  const void* more, std::size_t more_bytes, int fd) {
  wire::header head = {type, static_cast<std::uint32_t>(bytes + more_bytes), serial, fd >= 0 ? 1u : 0u};
  iovec parts[3] = {{&head, sizeof head}, {const_cast<void*>(part), bytes}, {const_cast<void*>(more), more_bytes}};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  int first = 0;
  bool with_fd = fd >= 0;
  while (first < 3) {
    if (parts[first].iov_len == 0) {
      ++first;
      continue;
    }
    msghdr message = {};
    message.msg_iov = parts + first;
    message.msg_iovlen = static_cast<std::size_t>(3 - first);
    if (with_fd) {
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      cmsghdr* c = CMSG_FIRSTHDR(&message);
      c->cmsg_level = SOL_SOCKET;
      c->cmsg_type = SCM_RIGHTS;
      c->cmsg_len = CMSG_LEN(sizeof(int));
      memcpy(CMSG_DATA(c), &fd, sizeof fd);
    }
    ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) {
      pollfd wait = {socket, POLLOUT, 0};
      poll(&wait, 1, -1);
      continue;
    }
    if (sent < 0) return;
    with_fd = false;
    for (; first < 3 && static_cast<std::size_t>(sent) >= parts[first].iov_len; ++first)
      sent -= static_cast<ssize_t>(parts[first].iov_len);
    if (first < 3) {
      parts[first].iov_base = static_cast<char*>(parts[first].iov_base) + sent;
      parts[first].iov_len -= static_cast<std::size_t>(sent);
    }
  }
}

}  // namespace sbx::init
