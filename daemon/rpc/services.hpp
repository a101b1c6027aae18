// What all connections of a server share.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "daemon/async/blocking_pool.hpp"
#include "daemon/async/outbox.hpp"
#include "daemon/async/task_group.hpp"
#include "daemon/rpc/method_table.hpp"
#include "daemon/rpc/request_table.hpp"

namespace sbx::rpc {

struct server_limits {
  server_limits() = default;
  std::size_t frame_bytes = 16u << 20;
  int frame_depth = 64;
  std::size_t connections = 512;
  request_limits requests;
  async::outbox_limits outbox;
  std::size_t replies_in_making_bytes = 32u << 20;  // a connection; what call_context::reserve_reply shares out
  std::size_t parse_inline_bytes = 256u << 10;      // longer frames are parsed on the pool
};

struct counters {
  std::atomic<std::int64_t> connections{0}, connections_total{0}, requests_total{0};
};

struct services {
  const method_table* methods = nullptr;
  connection_hooks hooks;
  server_limits limits;
  async::blocking_pool* pool = nullptr;
  async::failure_sink failures;  // what handlers threw
  counters count;
};

}  // namespace sbx::rpc
