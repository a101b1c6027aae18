// Bytes and descriptors over a connected Unix socket (stream or packets), without blocking.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/sys/error.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::sys {

constexpr std::size_t passed_fds_max = 64;

// A connected pair, close-on-exec. Error: io.
result<std::pair<unique_fd, unique_fd>> open_socket_pair(int type);

struct received_bytes {
  received_bytes() = default;
  std::size_t bytes = 0;
  bool would_block = false, ended = false;
  std::vector<unique_fd> fds;  // close-on-exec
};

// What is there now, at most `room` bytes, with the descriptors that rode on them. Error: io.
result<received_bytes> receive_now(fd_ref socket, char* into, std::size_t room);

// As much as the socket takes now; 0 when it is full. Descriptors go with the first byte. Never raises SIGPIPE.
result<std::size_t> send_now(fd_ref socket, std::string_view bytes, const std::vector<fd_ref>& fds = {});

// A file in memory with this content, its offset at the beginning. Error: io.
result<unique_fd> make_memory_file(const char* name, std::string_view content);

// Tells the peer end-of-file; what it sends still arrives. Nothing to report: a socket that is gone has told it
// already.
void shutdown_sending(fd_ref socket);

}  // namespace sbx::sys
