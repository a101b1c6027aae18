// The listening socket in the file system: where it lies, who may hold it, and what is left behind.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/sys/error.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::rpc {

// Where the socket lies when nobody says: $XDG_RUNTIME_DIR/sbxd/sbxd.sock (that directory must be ours), else
// /run/user/UID if that directory is ours, else /run/sbxd for root; otherwise an error. `runtime_dir` is the variable's
// value, null or empty when unset.
result<std::string> default_socket_path(const char* runtime_dir, uid_t uid);

// A listening socket and the lock SOCKET.lock, which is held for life and never removed.
class socket_file {
 public:
  socket_file() = default;
  socket_file(socket_file&&) = default;
  socket_file& operator=(socket_file&&) = default;

  // Makes the missing directories (0700) and the socket (0600 from birth), and listens. Errors: too_large (path over
  // 107 bytes), conflict (another daemon holds it, or something that is no socket lies there: it is left alone), io. A
  // stale socket is removed only under the lock and only when connecting to it is refused.
  static result<socket_file> bind(const std::string& path);
  // Takes a socket that listens already (socket activation); its file is not ours to remove. Locks when it has a path.
  static result<socket_file> adopt(sys::unique_fd listener);

  sys::unique_fd take_listener() { return std::move(listener_); }
  const std::string& path() const { return path_; }

  // Unlinks the socket if it is still the one that bind made.
  void remove();

 private:
  result<void> lock();
  result<void> clear_stale() const;
  result<void> make_socket();

  std::string path_;
  sys::unique_fd lock_, listener_;
  bool bound_ = false;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace sbx::rpc
