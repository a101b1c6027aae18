// The socket of one connection: system calls on readiness, with descriptors both ways. No protocol.
#pragma once

#include <boost/asio/local/stream_protocol.hpp>
#include <cstddef>
#include <string_view>
#include <vector>

#include "daemon/async/task.hpp"
#include "daemon/rpc/fd_claims.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::rpc {

class channel {
 public:
  channel(async::asio::any_io_executor strand, sys::unique_fd socket);

  enum class io { done, would_block, ended };

  // What one receive brought. `bytes` stays valid until the next receive on this thread.
  struct received {
    received() = default;
    io how = io::would_block;  // ended: end of file, or the connection is broken
    std::string_view bytes;
    bool filled = false;  // there may be more at once
    fd_bundle bundle;
  };
  received receive();

  // Sends what it can of `bytes`; the descriptors go with the first byte.
  struct sent {
    sent() = default;
    io how = io::done;
    std::size_t count = 0;
  };
  sent send(std::string_view bytes, const std::vector<sys::unique_fd>& fds);

  // Errors end these quietly: the next receive or send tells.
  async::task<void> wait_readable();
  async::task<void> wait_writable();
  // Answers when the peer is gone altogether (not merely half-closed), or when broken.
  async::task<void> wait_gone();
  bool gone() const;

  void shut_writing();
  void shut_both();  // wakes whoever waits

 private:
  async::task<void> wait(async::asio::local::stream_protocol::socket::wait_type what);
  async::asio::local::stream_protocol::socket socket_;
};

}  // namespace sbx::rpc
