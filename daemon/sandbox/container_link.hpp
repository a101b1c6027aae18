// The one-shot socket over which a container's init reaches the daemon, and the file in which it may say why it cannot.
#pragma once

#include <sys/types.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "daemon/async/task.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::sandbox {

// A directory LINK (0711, beneath one that is the daemon's own and 0700), with the socket LINK/control and the file
// LINK/reason (both 0666: init may be any user). Removed with this object.
class container_link {
 public:
  static result<std::unique_ptr<container_link>> make(async::asio::io_context& context, const std::string& beneath);
  ~container_link();
  container_link(const container_link&) = delete;
  container_link& operator=(const container_link&) = delete;

  const std::string& directory() const { return directory_; }
  // A file beside them, 0644, for the engine to bind; removed with the rest.
  result<std::string> add_file(const std::string& name, const std::string& content);
  result<std::string> add_copy(const std::string& name, sys::fd_ref content, mode_t mode);

  // The connection of the process `pid` (as this pid namespace sees it); whoever else connects is turned away. Throws
  // when cancelled: give it a deadline.
  async::task<result<sys::unique_fd>> accept_from(pid_t pid);

  // No more connections, and no way left to the directory.
  void close();

  // What init wrote before it gave up: one line, at most 500 bytes, not to be trusted.
  std::string reason() const;

 private:
  container_link(async::asio::io_context& context, std::string directory, sys::unique_fd directory_fd,
                 sys::unique_fd listener);

  std::string directory_;
  sys::unique_fd directory_fd_;
  async::asio::posix::stream_descriptor listener_;
};

// Removes the links an earlier daemon left beneath its directory.
void sweep_links(const std::string& beneath);

}  // namespace sbx::sandbox
