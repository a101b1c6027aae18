#include "client/connection.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

namespace sbx::client {
namespace {

constexpr std::size_t reply_bytes_max = std::size_t{1} << 30;
constexpr int reply_depth_max = 256;
constexpr std::size_t fds_max = 8;

failure no_daemon(const std::string& path, int number) {
  return failure(exit_unavailable, "No daemon answers on " + path + " (" + std::strerror(number) + ").",
                 "start one with `systemctl --user start sbxd.socket`, or run `sbxd`");
}

failure hung_up() {
  return failure(exit_unavailable, "The daemon has closed the connection.");
}

}  // namespace

connection::connection(sys::unique_fd socket) : socket_(std::move(socket)), frames_(reply_bytes_max) {}

outcome<std::unique_ptr<connection>> connection::open(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path))
    return fail(exit_unavailable, "The socket's path is longer than 107 bytes: " + path + ".");
  std::memcpy(address.sun_path, path.data(), path.size());
  sys::unique_fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail(system_failure(errno, "Making a socket"));
  int failed;
  do {
    failed = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  } while (failed != 0 && errno == EINTR);
  if (failed != 0) return fail(no_daemon(path, errno));
  return std::unique_ptr<connection>(new connection(std::move(socket)));
}

outcome<void> connection::write_all(std::string_view bytes, const std::vector<sys::fd_ref>& fds) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * fds_max)] = {};
  bool with_fds = !fds.empty();
  while (!bytes.empty()) {
    iovec part{const_cast<char*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (with_fds) {
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
      for (std::size_t n = 0; n < fds.size(); ++n) {
        const int number = fds[n].get();
        std::memcpy(CMSG_DATA(header) + n * sizeof(int), &number, sizeof(int));
      }
    }
    const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return fail(errno == EPIPE || errno == ECONNRESET ? hung_up() : system_failure(errno, "Sending"));
    with_fds = false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

outcome<std::int64_t> connection::send(std::string_view method, std::string_view params,
                                       const std::vector<sys::fd_ref>& fds) {
  const std::int64_t id = ++last_id_;
  const std::string text =
      proto::wrap_frame(proto::framing::line, proto::make_request(proto::request_id(id), method, params));
  if (auto sent = write_all(text, fds); !sent) return fail(std::move(sent.error()));
  return id;
}

outcome<void> connection::notify(std::string_view method, std::string_view params) {
  return write_all(proto::wrap_frame(proto::framing::line, proto::make_notification(method, params)), {});
}

outcome<void> connection::receive() {
  char bytes[65536];
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * fds_max)];
  iovec part{bytes, sizeof(bytes)};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t size;
  do {
    size = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size < 0 && errno != ECONNRESET) return fail(system_failure(errno, "Receiving"));
  if (size <= 0) return fail(hung_up());
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t n = 0; n < count; ++n) {
      int number;
      std::memcpy(&number, CMSG_DATA(header) + n * sizeof(int), sizeof(int));
      fds_.emplace_back(number);
    }
  }
  frames_.feed(std::string_view(bytes, static_cast<std::size_t>(size)));
  proto::parse_limits limits;
  limits.depth_max = reply_depth_max;
  while (auto frame = frames_.next())
    for (auto& one : proto::parse_frame(frame->text, limits).messages) messages_.push_back(std::move(one));
  if (frames_.failure()) return fail(exit_unavailable, "The daemon sent what can't be followed.");
  return {};
}

std::optional<proto::message> connection::next() {
  if (messages_.empty()) return std::nullopt;
  std::optional<proto::message> first(std::move(messages_.front()));
  messages_.pop_front();
  return first;
}

outcome<proto::document> connection::wait(std::int64_t id) {
  while (true) {
    while (auto one = next()) {
      if (auto* answer = std::get_if<proto::response>(&*one)) {
        // An error with id null is about the connection itself.
        if (answer->error && (answer->id.is_null() || answer->id == proto::request_id(id)))
          return fail(failure(std::move(*answer->error)));
        if (answer->id == proto::request_id(id)) return std::move(answer->result);
      } else if (const auto* note = std::get_if<proto::call>(&*one)) {
        if (sink_) sink_(*note);
      }
    }
    if (auto came = receive(); !came) return fail(std::move(came.error()));
  }
}

outcome<proto::document> connection::call(std::string_view method, std::string_view params,
                                          const std::vector<sys::fd_ref>& fds) {
  auto id = send(method, params, fds);
  if (!id) return fail(std::move(id.error()));
  return wait(*id);
}

failure connection::not_understood(std::string_view method, const proto::fault& wrong) {
  return failure(exit_unavailable, "The daemon's answer to " + std::string(method) + " is not understood: " +
                                       (wrong.path.empty() ? "it" : wrong.path) + " " + wrong.message + ".");
}

}  // namespace sbx::client
