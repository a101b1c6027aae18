// Writers of one file take turns: comparing an etag and replacing the file is one step among them. Internal to
// daemon/fs.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "daemon/fs/call.hpp"
#include "daemon/fs/resolve.hpp"

namespace sbx::fs {

// Held for the name of a file in its directory, across all workspaces of the daemon; other names never wait for it.
class target_lock {
 public:
  // Waits its turn in the pool (cancelled when how.stop asks); on the reactor it fails with would_block instead.
  static result<target_lock> take(const place& target, const call& how);

  target_lock(target_lock&& other) noexcept;
  target_lock& operator=(target_lock&&) = delete;
  ~target_lock();

 private:
  target_lock(dev_t device, ino_t inode, std::string name);
  bool held_ = false;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::string name_;
};

}  // namespace sbx::fs
