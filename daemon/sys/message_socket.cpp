#include "daemon/sys/message_socket.hpp"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace sbx::sys {

result<std::pair<unique_fd, unique_fd>> open_socket_pair(int type) {
  int ends[2];
  if (::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends) != 0) return fail_system(errno, "making a socket pair");
  return std::pair(unique_fd(ends[0]), unique_fd(ends[1]));
}

result<received_bytes> receive_now(fd_ref socket, char* into, std::size_t room) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * passed_fds_max)> control;
  iovec part{into, room};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t got = 0;
  do got = ::recvmsg(socket.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  while (got < 0 && errno == EINTR);
  received_bytes out;
  if (got < 0) {
    if (errno != EAGAIN) return fail_system(errno, "receiving");
    out.would_block = true;
    return out;
  }
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
      out.fds.emplace_back(fd);
    }
  }
  out.bytes = static_cast<std::size_t>(got);
  out.ended = got == 0;
  return out;
}

result<std::size_t> send_now(fd_ref socket, std::string_view bytes, const std::vector<fd_ref>& fds) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * passed_fds_max)> control;
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
    cmsghdr* c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
    for (std::size_t i = 0; i < fds.size(); ++i) {
      const int fd = fds[i].get();
      std::memcpy(CMSG_DATA(c) + i * sizeof fd, &fd, sizeof fd);
    }
  }
  ssize_t sent = 0;
  do sent = ::sendmsg(socket.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  while (sent < 0 && errno == EINTR);
  if (sent >= 0) return static_cast<std::size_t>(sent);
  if (errno == EAGAIN) return std::size_t{0};
  return fail_system(errno, "sending");
}

result<unique_fd> make_memory_file(const char* name, std::string_view content) {
  unique_fd file(::memfd_create(name, MFD_CLOEXEC));
  if (!file || ::ftruncate(file.get(), static_cast<off_t>(content.size())) != 0 ||
      ::pwrite(file.get(), content.data(), content.size(), 0) != static_cast<ssize_t>(content.size()))
    return fail_system(errno, "making a file in memory");
  return file;
}

void shutdown_sending(fd_ref socket) {
  ::shutdown(socket.get(), SHUT_WR);
}

}  // namespace sbx::sys
