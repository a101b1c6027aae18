// Accepts clients and owns their connections.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <map>
#include <memory>

#include "daemon/async/event.hpp"
#include "daemon/async/task.hpp"
#include "daemon/async/task_group.hpp"
#include "daemon/rpc/connection.hpp"
#include "daemon/rpc/services.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::rpc {

class server {
 public:
  server(async::asio::io_context& io, std::shared_ptr<services> shared);

  // Starts accepting on a listening socket. A peer that is neither this user nor root is closed at once. Out of
  // descriptors or over the cap of connections, accepting pauses; those that are there go on.
  void listen(sys::unique_fd listener);

  // The three below end it, in this order. drain: no new clients, calls in flight are stopped and answered; answers
  // when all have been (a client that does not read holds it up: give it a deadline).
  async::task<void> drain();
  void abort();              // drops every connection
  async::task<void> join();  // answers when the last is gone

 private:
  async::task<void> accept_all();
  async::task<void> wait_for_room();
  bool accept_one();  // false: none waits
  async::task<void> host(std::shared_ptr<connection> client);
  async::task<void> drain_all();

  async::asio::io_context& io_;
  const std::shared_ptr<services> shared_;
  const async::strand strand_;
  async::asio::posix::stream_descriptor listener_;
  std::map<std::uint64_t, std::shared_ptr<connection>> connections_;
  std::uint64_t next_number_ = 1;
  bool out_of_room_ = false;
  async::signal changed_;
  async::task_group accepting_, hosting_;
};

}  // namespace sbx::rpc
