// A walk over all that is below a directory, in the order of the sorted paths. Internal to daemon/fs.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "daemon/fs/call.hpp"
#include "daemon/fs/directory.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::fs {

enum class visit { go_on, skip, stop };  // skip: not into this directory

// What the walk meets, each thing once. A directory is met itself, then entered.
struct met {
  met(sys::fd_ref directory_, const directory_entry& entry_, const std::string& path_, std::size_t depth_)
      : directory(directory_), entry(entry_), path(path_), depth(depth_) {}
  sys::fd_ref directory;  // that holds the name
  const directory_entry& entry;
  const std::string& path;  // below the top of the walk
  std::size_t depth;        // 0 for entries of the top
};

struct walk_hooks {
  walk_hooks() = default;
  std::function<visit(const met&)> meet;
  // A directory was entered (its path; "" for the top) or left.
  std::function<void(sys::fd_ref directory, const std::string& path)> entered;
  std::function<void()> left;
};

// Never follows a link; any depth. Directories that vanish or may not be read are passed over. 0, ECANCELED, or an
// errno when the walk could not go on (a directory it was in was moved away).
int walk_tree(sys::unique_fd top, const walk_hooks& hooks, const call& how);

}  // namespace sbx::fs
