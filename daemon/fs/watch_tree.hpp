// What a watch knows: which directories it watches, under which names, and what it has yet to tell. No asio; internal
// to daemon/fs.
#pragma once

#include <sys/inotify.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "daemon/fs/resolve.hpp"
#include "daemon/fs/watch.hpp"

namespace sbx::fs {

class watch_tree {
 public:
  watch_tree(std::shared_ptr<const root_set> roots, location base, sys::unique_fd inotify);

  // Sets it up; may take long when recursive. `file_name` is not empty for a watch of one file: then base is the
  // directory that holds it.
  result<void> begin(const place& directory, std::string file_name, bool recursive, const call& how);

  sys::fd_ref inotify() const { return inotify_; }

  // What has happened, without waiting; does a bounded piece of the work. Empty: nothing (or nothing to tell).
  change_batch drain(const call& how);
  // There is more to do without waiting for the descriptor.
  bool busy() const { return !unread_.empty() || !pending_.empty() || !outgoing_.empty(); }

 private:
  enum class telling { silent, as_created };
  struct watched {
    std::string relative;                     // of the directory, below its root
    std::unordered_set<std::uint64_t> names;  // hashes of the names in it, to tell new from replaced
  };
  struct pending_directory {
    pending_directory(std::string relative_, telling what_) : relative(std::move(relative_)), what(what_) {}
    std::string relative;
    telling what;
  };

  result<void> add(const pending_directory& one, const call& how);
  result<void> watch_root(const place& directory);
  void forget_below(const std::string& relative);
  void rebuild();
  int fill_unread();
  void take_events(const call& how);
  void take(const inotify_event& event, std::string_view name);
  void take_named(watched& directory, const inotify_event& event, const std::string& name);
  void take_nameless(int descriptor, const inotify_event& event);
  void tell(const std::string& relative, change_kind kind);
  void end_with(const std::string& relative);

  std::shared_ptr<const root_set> roots_;
  location base_;
  std::string file_name_;
  bool recursive_ = false;
  sys::unique_fd inotify_;
  std::unordered_map<int, watched> watched_;
  std::map<std::string, int> descriptors_;  // by relative path
  int root_descriptor_ = -1;                // of the root, when that is not the base
  std::deque<pending_directory> pending_;
  std::string unread_;  // events read from the kernel, not yet looked at
  std::deque<change> outgoing_;
  bool overflow_ = false, ended_ = false;
};

}  // namespace sbx::fs
