// Messages over the sockets of init, without allocation.
#pragma once

#include <sys/types.h>

#include "daemon/sys/init_wire.hpp"

namespace sbx::init {

namespace wire = sys::init_wire;

enum class receive_result { ok, again, ended };

struct received {
  wire::header head;
  int fds[wire::spawn_fds_max];
  int fd_count;
};

// One header and the descriptors that ride on it. `again`: nothing there yet. `ended`: end-of-file or a broken peer.
receive_result receive_header(int socket, received& out);

// Exactly `bytes` bytes; waits for them. False at end-of-file.
bool receive_exactly(int socket, void* into, std::size_t bytes);

// Sends header and up to two parts; waits for room. A peer that is gone is no error: its end-of-file tells.
void send_message(int socket, wire::message type, std::uint32_t serial, const void* part, std::size_t bytes,
                  const void* more = nullptr, std::size_t more_bytes = 0, int fd = -1);

}  // namespace sbx::init
