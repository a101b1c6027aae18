// The trees that outlived their command: they belong to the workspace, at most 64 of them.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>

#include "daemon/process/process_tree.hpp"

namespace sbx::process {

class survivor_set {
 public:
  static constexpr std::size_t trees_max = 64;

  // Takes a finished process whose tree goes on; the oldest is killed beyond the limit. Called on any strand, one at a
  // time (the workspace's).
  void add(std::shared_ptr<process_tree> tree);
  std::size_t size();

 private:
  void forget_closed();
  std::deque<std::weak_ptr<process_tree>> trees_;  // a process holds itself until its tree is empty
};

}  // namespace sbx::process
