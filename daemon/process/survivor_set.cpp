#include "daemon/process/survivor_set.hpp"

#include <boost/asio/dispatch.hpp>

namespace sbx::process {

void survivor_set::add(std::shared_ptr<process_tree> tree) {
  forget_closed();
  trees_.push_back(tree);
  if (trees_.size() <= trees_max) return;
  if (auto oldest = trees_.front().lock())
    async::asio::dispatch(oldest->strand(), [oldest] { oldest->kill(outcome::stopped); });
  trees_.pop_front();
}

std::size_t survivor_set::size() {
  forget_closed();
  return trees_.size();
}

void survivor_set::forget_closed() {
  std::erase_if(trees_, [](const auto& tree) { return tree.expired(); });
}

}  // namespace sbx::process
