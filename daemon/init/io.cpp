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
      if (out.fd_count < received_fds_max) {
        out.fds[out.fd_count++] = fd;
      } else {
        close(fd);
      }
    }
  }
}

}  // namespace

void close_received(received& what) {
  for (int i = 0; i < what.fd_count; ++i) close(what.fds[i]);
  what.fd_count = 0;
}

namespace {

ssize_t receive_parts(int socket, iovec* parts, std::size_t count, int flags, received& out) {
  out.fd_count = 0;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * received_fds_max)];
  msghdr message = {};
  message.msg_iov = parts;
  message.msg_iovlen = count;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got;
  do got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | flags);
  while (got < 0 && errno == EINTR);
  if (got > 0) take_descriptors(message, out);
  return got;
}

}  // namespace

receive_result receive_header(int socket, received& out) {
  iovec part = {&out.head, sizeof out.head};
  const ssize_t got = receive_parts(socket, &part, 1, MSG_DONTWAIT, out);
  if (got < 0) return errno == EAGAIN ? receive_result::again : receive_result::ended;
  if (got == 0) return receive_result::ended;
  const std::size_t have = static_cast<std::size_t>(got);
  if (have < sizeof out.head &&
      !receive_exactly(socket, reinterpret_cast<char*>(&out.head) + have, sizeof out.head - have))
    return receive_result::ended;
  return receive_result::ok;
}

packet_size receive_packet(int socket, void* body, std::size_t room, received& out) {
  iovec parts[2] = {{&out.head, sizeof out.head}, {body, room}};
  const ssize_t got = receive_parts(socket, parts, 2, 0, out);
  if (got < static_cast<ssize_t>(sizeof out.head)) return {true, 0};
  return {false, static_cast<std::size_t>(got) - sizeof out.head};
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
