// Where the daemon's socket and the client's own files are.
#pragma once

#include <string>
#include <string_view>

#include "client/failure.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::client {

// $XDG_RUNTIME_DIR, else /run/user/UID if that is ours, else /run for root.
outcome<std::string> runtime_directory();

// `given` (--socket), else $SBX_SOCKET, else sbxd/sbxd.sock beneath the runtime directory.
outcome<std::string> socket_path(std::string_view given);

// The file in which the session of a socket is remembered, relative to the directory: the path with '/' escaped.
std::string token_file_name(std::string_view socket);

// The session remembered for a socket. The directory is 0700 and ours, the file 0600; both made when needed.
class token_store {
 public:
  static outcome<token_store> open(std::string_view socket);

  // The token, or empty.
  std::string read() const;
  // Replaces it in one step.
  outcome<void> write(const std::string& token) const;
  // Keeps other calls from replacing it meanwhile, as long as this object lives.
  void lock() const;

 private:
  token_store() = default;
  sys::unique_fd directory_;
  std::string name_;
};

}  // namespace sbx::client
