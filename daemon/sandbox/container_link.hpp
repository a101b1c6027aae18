// The one-shot socket over which a container's init reaches the daemon, and the pipe in which it may say why it cannot.
#pragma once

#include <sys/types.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "daemon/async/task.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::sandbox {

// A directory of the daemon's own (0700) with what the engine binds into one container: files, and beneath it a
// directory 0711 with the socket `control` and the FIFO `reason` (0666: init may be any user; a FIFO, because what a
// container may write to without end must not be a file of the host's). Removed with this object; a crashed daemon's
// are swept.
class container_link {
 public:
  // `record` is kept beside them, to be found by a sweep.
  static result<std::unique_ptr<container_link>> make(async::asio::io_context& context, const std::string& beneath,
                                                      const std::string& prefix,
                                                      const std::vector<std::string>& record);
  ~container_link();
  container_link(const container_link&) = delete;
  container_link& operator=(const container_link&) = delete;

  std::string shown_directory() const { return directory_ + "/shown"; }
  // A file beside it, 0644, for the engine to bind.
  result<std::string> add_file(const std::string& name, const std::string& content);
  // The same with what is read from a descriptor.
  result<std::string> add_copy(const std::string& name, sys::fd_ref content, mode_t mode);

  struct peer {
    peer() = default;
    sys::unique_fd control;
    uid_t uid = 0;  // as the host sees it: whose files init makes
  };
  // The connection of the process `pid` (as this pid namespace sees it); whoever else connects is turned away. Throws
  // when cancelled: give it a deadline.
  async::task<result<peer>> accept_from(pid_t pid);

  // No more connections, nor words.
  void close_shown();

  // What init wrote before it gave up: one line, at most 500 bytes, not to be trusted.
  std::string reason() const;

 private:
  container_link(async::asio::io_context& context, std::string directory);
  result<void> fill(const std::vector<std::string>& record);

  std::string directory_;
  sys::unique_fd directory_fd_, shown_fd_, reason_;
  async::asio::posix::stream_descriptor listener_;
};

// The records of what an earlier daemon left beneath its directory.
std::vector<std::vector<std::string>> find_left_links(const std::string& beneath, const std::string& prefix);
// Removes them.
void remove_left_links(const std::string& beneath, const std::string& prefix);

}  // namespace sbx::sandbox
