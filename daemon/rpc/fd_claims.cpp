#include "daemon/rpc/fd_claims.hpp"

#include <utility>

namespace sbx::rpc {

void fd_claims::add(std::uint64_t begin, std::uint64_t end, fd_bundle bundle) {
  if (bundle.empty()) return;
  if (bundle.fds.size() > frame_fds_max) bundle.too_many = true;
  if (bundle.too_many || bundle.lost) bundle.fds.clear();
  received_.emplace_back(begin, end, std::move(bundle));
}

fd_bundle fd_claims::claim(std::uint64_t begin, std::uint64_t next_begin) {
  // Ranges that end before this frame are past claiming.
  while (!received_.empty() && received_.front().end <= begin) received_.pop_front();
  fd_bundle claimed;
  if (received_.empty() || received_.front().begin > begin) return claimed;
  if (next_begin < received_.front().end) return claimed;  // a later frame begins in the same bytes
  claimed = std::move(received_.front().bundle);
  received_.pop_front();
  return claimed;
}

void fd_claims::settle(std::uint64_t pending_begin) {
  // A frame that began before the range and is not over by its end leaves no beginning inside it.
  std::deque<range> kept;
  for (range& r : received_)
    if (r.begin <= pending_begin && pending_begin < r.end) kept.push_back(std::move(r));
  received_.swap(kept);
}

}  // namespace sbx::rpc
