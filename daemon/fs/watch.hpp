// Telling of changes below a path, by inotify.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/async/task.hpp"
#include "daemon/fs/call.hpp"
#include "daemon/fs/root.hpp"
#include "daemon/sys/error.hpp"

namespace sbx::async {
class blocking_pool;
}

namespace sbx::fs {

enum class change_kind { created, changed, removed };

struct change {
  change() = default;
  change(std::string path_, change_kind kind_) : path(std::move(path_)), kind(kind_) {}
  std::string path;  // as returned paths are
  change_kind kind = change_kind::changed;
};

struct change_batch {
  change_batch() = default;
  std::vector<change> events;  // in order, repeats of the same within a batch left out; at most 1,000
  bool overflow = false;       // some were lost: look again
  bool ended = false;          // what was watched is gone: the last batch
};

struct watch_request {
  watch_request() = default;
  std::string path;  // "" is the first root
  bool recursive = false;
};

class watch_tree;  // the inotify descriptor and what it knows; no asio

// Begins to watch: blocks (walks the tree when recursive). limit {limit, max} at 16,384 directories or the kernel's
// own.
result<std::shared_ptr<watch_tree>> open_watch(std::shared_ptr<const root_set> roots, const watch_request& request,
                                               const call& how);

// The awaiting side. Lives on `executor` (a strand); what may block is done in the pool under `pool_key`. Destroying it
// ends the watch.
class watcher {
 public:
  watcher(async::asio::any_io_executor executor, async::blocking_pool& pool, std::string pool_key,
          std::shared_ptr<watch_tree> tree);
  ~watcher();
  watcher(const watcher&) = delete;
  watcher& operator=(const watcher&) = delete;

  // Waits for the next changes and gathers what comes within 20 ms of the first. Never empty. Cancellable (terminal:
  // throws operation_aborted). Not to be called after `ended`, nor twice at the same time.
  async::task<change_batch> next();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace sbx::fs
