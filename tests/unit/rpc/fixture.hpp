// A server with a few methods on a socket in a directory of its own, and a plain client that sees bytes.
#pragma once

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "daemon/async/blocking_pool.hpp"
#include "daemon/async/run.hpp"
#include "daemon/rpc/server.hpp"
#include "daemon/rpc/socket_file.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::rpc::test {

using namespace std::chrono_literals;

struct temp_directory {
  temp_directory() {
    char name[] = "/tmp/sbx-rpc-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~temp_directory() { std::filesystem::remove_all(path); }
  std::string path;
};

class client {
 public:
  explicit client(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    connected_ = ::connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }

  bool connected() const { return connected_; }
  int fd() const { return fd_.get(); }
  void close() { fd_.reset(); }
  void half_close() { ::shutdown(fd_.get(), SHUT_WR); }

  // Writes all of it, or until the daemon hangs up or does not read for `limit`.
  bool send(std::string_view bytes, std::chrono::milliseconds limit = 5s) {
    while (!bytes.empty()) {
      pollfd ready{fd_.get(), POLLOUT, 0};
      if (::poll(&ready, 1, static_cast<int>(limit.count())) <= 0) return false;
      const ssize_t count = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count < 0 && errno == EAGAIN) continue;
      if (count <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }

  bool send_with_fds(std::string_view bytes, const std::vector<int>& fds) {
    iovec part{const_cast<char*>(bytes.data()), bytes.size()};
    std::vector<char> control(CMSG_SPACE(sizeof(int) * fds.size()));
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
    std::memcpy(CMSG_DATA(c), fds.data(), sizeof(int) * fds.size());
    return ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }

  // The next line without its end; empty at end of file or after `limit`.
  std::string line(std::chrono::milliseconds limit = 5s) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    for (;;) {
      const auto end = buffer_.find('\n');
      if (end != std::string::npos) {
        std::string found = buffer_.substr(0, end);
        buffer_.erase(0, end + 1);
        return found;
      }
      if (!fill(deadline)) return {};
    }
  }

  // Everything until the daemon closes; the flag says whether it did within `limit`.
  bool read_to_end(std::string& into, std::chrono::milliseconds limit = 10s) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    while (fill(deadline)) {
    }
    into = std::move(buffer_);
    return ended_;
  }

 private:
  bool fill(std::chrono::steady_clock::time_point deadline) {
    if (ended_) return false;
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd ready{fd_.get(), POLLIN, 0};
    if (left.count() <= 0 || ::poll(&ready, 1, static_cast<int>(left.count())) <= 0) return false;
    char part[65536];
    const ssize_t count = ::recv(fd_.get(), part, sizeof part, 0);
    if (count <= 0) ended_ = true;
    if (count > 0) buffer_.append(part, static_cast<std::size_t>(count));
    return count > 0;
  }

  sys::unique_fd fd_;
  bool connected_ = false, ended_ = false;
  std::string buffer_;
};

// Methods: ping, sleep (until stopped), slow_barrier (50 ms, holds later ones back), big {bytes}, fds, throw, stubborn
// (ask).
class running_server {
 public:
  explicit running_server(server_limits limits = server_limits());
  ~running_server();

  client connect() { return client(path()); }
  std::string path() const { return directory_.path + "/run/test.sock"; }
  rpc::services& services() { return *services_; }
  rpc::server& server() { return server_; }
  int failures() const { return failures_; }
  std::atomic<int> slept{0}, sleeps_ended{0}, stopped_gone{0};

  // Starts the drain of the whole server, in its own thread.
  void drain();
  std::atomic<bool> drained{false};

 private:
  void add_methods();

  temp_directory directory_;
  boost::asio::io_context io_;
  async::blocking_pool pool_{io_.get_executor()};
  method_table methods_;
  std::atomic<int> failures_{0};
  std::shared_ptr<rpc::services> services_ = std::make_shared<rpc::services>();
  rpc::server server_{io_, services_};
  async::task_group life_{io_.get_executor()};
  socket_file socket_;
  std::vector<std::thread> threads_;
};

}  // namespace sbx::rpc::test
