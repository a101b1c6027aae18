// Which frame the received descriptors belong to, sans I/O: the last one that begins in the bytes received with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "daemon/sys/fd.hpp"

namespace sbx::rpc {

constexpr std::size_t frame_fds_max = 8;

// The descriptors of one recvmsg, or of one frame.
struct fd_bundle {
  fd_bundle() = default;
  std::vector<sys::unique_fd> fds;
  bool too_many = false;  // more than a frame may carry: all are closed
  bool lost = false;      // the daemon had no room for them (EMFILE): all are closed
  bool empty() const { return fds.empty() && !too_many && !lost; }
};

class fd_claims {
 public:
  // `bundle` came with the stream's bytes [begin, end).
  void add(std::uint64_t begin, std::uint64_t end, fd_bundle bundle);

  // What belongs to the frame that begins at `begin`; `next_begin` is where the following one begins (or will).
  fd_bundle claim(std::uint64_t begin, std::uint64_t next_begin);

  // Drops (closes) what no frame can claim any more, when the frame being collected begins at `pending_begin`.
  void settle(std::uint64_t pending_begin);

  bool empty() const { return received_.empty(); }

 private:
  struct range {
    range(std::uint64_t begin_, std::uint64_t end_, fd_bundle bundle_)
        : begin(begin_), end(end_), bundle(std::move(bundle_)) {}
    std::uint64_t begin, end;
    fd_bundle bundle;
  };
  std::deque<range> received_;
};

}  // namespace sbx::rpc
