// Messages over the sockets of init, without allocation.
#pragma once

#include <sys/types.h>

#include <cstddef>

#include "daemon/sys/init_wire.hpp"

namespace sbx::init {

namespace wire = sys::init_wire;

constexpr int received_fds_max = static_cast<int>(wire::spawn_fds_max) + 1;

struct received {
  wire::header head;
  int fds[received_fds_max];
  int fd_count;
};

void close_received(received& what);

// Control (a stream): one header and the descriptors that ride on it. `again`: nothing there yet. `ended`: end-of-file
// or a broken peer.
enum class receive_result { ok, again, ended };
receive_result receive_header(int socket, received& out);

// Exactly `bytes` bytes; waits for them. False at end-of-file.
bool receive_exactly(int socket, void* into, std::size_t bytes);

// Leash (packets): the next one, header and body apart; waits for it. A body longer than `room` is cut.
struct packet_size {
  bool ended;
  std::size_t bytes;  // of the body
};
packet_size receive_packet(int socket, void* body, std::size_t room, received& out);

// Either: sends header and up to two parts as one; waits for room. A peer that is gone is no error: its end-of-file
// tells.
void send_message(int socket, wire::message type, std::uint32_t serial, const void* part, std::size_t bytes,
                  const void* more = nullptr, std::size_t more_bytes = 0, int fd = -1);

}  // namespace sbx::init
