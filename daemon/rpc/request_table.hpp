// The calls of one connection, sans I/O: which ids are in flight, which call may run next, when to stop reading.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "daemon/rpc/method_table.hpp"
#include "proto/types.hpp"

namespace sbx::rpc {

struct request_limits {
  request_limits() = default;
  std::size_t running = 256, waiting = 256;
};

class request_table {
 public:
  using key = std::uint64_t;

  explicit request_table(request_limits limits = request_limits()) : limits_(limits) {}

  // A call that has arrived; it waits at first. Nothing when its id is in flight already.
  std::optional<key> admit(const std::optional<proto::request_id>& id, ordering order);

  // The next call that may run, which runs from now on. Calls start in the order of their arrival, none while a barrier
  // runs and none over the limit.
  std::optional<key> start_next();

  // It has answered (or was cancelled while it waited).
  void finish(key which);

  std::optional<key> find(const proto::request_id& id) const;
  bool is_running(key which) const;
  std::vector<key> all() const;

  // No further call fits: stop reading.
  bool full() const { return waiting_.size() >= limits_.waiting; }
  bool empty() const { return calls_.empty(); }
  std::size_t size() const { return calls_.size(); }

 private:
  struct entry {
    entry(std::optional<proto::request_id> id_, ordering order_) : id(std::move(id_)), order(order_) {}
    std::optional<proto::request_id> id;
    ordering order;
    bool running = false;
  };

  request_limits limits_;
  std::map<key, entry> calls_;
  std::map<proto::request_id, key> by_id_;
  std::deque<key> waiting_;
  std::size_t running_ = 0;
  std::optional<key> barrier_;  // the one that runs
  key next_ = 1;
};

}  // namespace sbx::rpc
