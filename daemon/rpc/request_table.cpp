#include "daemon/rpc/request_table.hpp"

#include <algorithm>

namespace sbx::rpc {

std::optional<request_table::key> request_table::admit(const std::optional<proto::request_id>& id, ordering order) {
  if (id && by_id_.contains(*id)) return std::nullopt;
  const key made = next_++;
  calls_.emplace(made, entry(id, order));
  if (id) by_id_.emplace(*id, made);
  waiting_.push_back(made);
  return made;
}

std::optional<request_table::key> request_table::start_next() {
  if (waiting_.empty() || barrier_ || running_ >= limits_.running) return std::nullopt;
  const key next = waiting_.front();
  waiting_.pop_front();
  entry& call = calls_.at(next);
  call.running = true;
  ++running_;
  if (call.order == ordering::barrier) barrier_ = next;
  return next;
}

void request_table::finish(key which) {
  const auto at = calls_.find(which);
  if (at == calls_.end()) return;
  if (at->second.running)
    --running_;
  else
    waiting_.erase(std::remove(waiting_.begin(), waiting_.end(), which), waiting_.end());
  if (barrier_ == which) barrier_.reset();
  if (at->second.id) by_id_.erase(*at->second.id);
  calls_.erase(at);
}

std::optional<request_table::key> request_table::find(const proto::request_id& id) const {
  const auto at = by_id_.find(id);
  if (at == by_id_.end()) return std::nullopt;
  return at->second;
}

bool request_table::is_running(key which) const {
  const auto at = calls_.find(which);
  return at != calls_.end() && at->second.running;
}

std::vector<request_table::key> request_table::all() const {
  std::vector<key> keys;
  for (const auto& [which, call] : calls_) keys.push_back(which);
  return keys;
}

}  // namespace sbx::rpc
