// A connection as the layers above see it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "daemon/async/event.hpp"
#include "daemon/async/task.hpp"
#include "daemon/async/task_group.hpp"
#include "daemon/rpc/outcome.hpp"
#include "proto/jsonrpc.hpp"

namespace sbx::rpc {

// Base of whatever api keeps for one connection (its session, its followers, its exec.runs by request id).
struct connection_state {
  virtual ~connection_state() = default;
};

// Shared: outlives the connection harmlessly (everything answers "closed" then). All members are called on strand().
class peer {
 public:
  virtual ~peer() = default;

  virtual std::uint64_t number() const = 0;  // unique in this daemon's life
  virtual async::asio::any_io_executor strand() const = 0;
  virtual bool closed() const = 0;

  // Tasks that belong to the connection (followers): cancelled and joined when it ends, before on_closed is called.
  virtual async::task_group& tasks() = 0;

  // Queues a notification. False when the stream part of the queue is full or the connection has ended: nothing was
  // sent.
  virtual bool notify(std::string_view method, std::string_view params_json) = 0;
  // Waits until notify would be taken: true, or false once the connection has ended. Followers pace themselves by it.
  virtual async::task<bool> room() = 0;

  // Sends a request to the client and awaits its answer: its result, or cancelled (the connection ended), limit (too
  // many at once), internal (it answered with an error). Give it a deadline; giving up is safe, a late answer is
  // dropped.
  virtual async::task<result<proto::document>> request(std::string method, std::string params_json) = 0;

  std::shared_ptr<connection_state> state;  // api's own
};

}  // namespace sbx::rpc
