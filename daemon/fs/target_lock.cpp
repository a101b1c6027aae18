#include "daemon/fs/target_lock.hpp"

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <tuple>

#include "daemon/fs/errors.hpp"

namespace sbx::fs {
namespace {

// One table for the process: workspaces may share files, so it can belong to none of them.
struct lock_table {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<std::tuple<dev_t, ino_t, std::string>> held;
};

lock_table& table() {
  static lock_table one;
  return one;
}

}  // namespace

target_lock::target_lock(dev_t device, ino_t inode, std::string name)
    : held_(true), device_(device), inode_(inode), name_(std::move(name)) {}

target_lock::target_lock(target_lock&& other) noexcept
    : held_(std::exchange(other.held_, false)),
      device_(other.device_),
      inode_(other.inode_),
      name_(std::move(other.name_)) {}

target_lock::~target_lock() {
  if (!held_) return;
  const std::lock_guard guard(table().mutex);
  table().held.erase({device_, inode_, name_});
  table().changed.notify_all();
}

result<target_lock> target_lock::take(const place& target, const call& how) {
  struct stat status {};
  if (::fstat(target.directory.get(), &status) != 0) return fail_at(errno, "looking at", target.path);
  std::unique_lock guard(table().mutex);
  const auto key = std::make_tuple(status.st_dev, status.st_ino, target.name);
  while (!table().held.insert(key).second) {
    if (how.on_reactor) return needs_pool();
    if (how.stop.stopped()) return cancelled();
    // Wakes for a cancellation too.
    table().changed.wait_for(guard, std::chrono::milliseconds(50));
  }
  return target_lock(status.st_dev, status.st_ino, target.name);
}

}  // namespace sbx::fs
