// Reading directories and going down and up in trees by descriptors alone. Internal to daemon/fs.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "daemon/fs/call.hpp"
#include "daemon/fs/file_ops.hpp"
#include "daemon/sys/error.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::fs {

struct directory_entry {
  directory_entry() = default;
  std::string name;
  bool maybe_directory = false;  // it is one, or the file system doesn't say
  bool surely_file = false;      // a regular file, said the file system
};

// Calls `each` for all entries but "." and "..", in the system's order, until it answers false. 0 or an errno;
// ECANCELED.
int for_each_entry(sys::fd_ref directory, const call& how,
                   const std::function<bool(const char* name, unsigned type)>& each);

// All of them. Order is the system's.
int read_entries(sys::fd_ref directory, const call& how, std::vector<directory_entry>& out);

// Opens a subdirectory for reading without following a link. Negated errno (ENOTDIR, ELOOP: no directory).
int open_subdirectory(sys::fd_ref directory, const char* name) noexcept;

// The directories from the top of a walk down to where it is. Any depth with a bounded number of open descriptors:
// those far up are closed and opened again by ".." when the walk comes back, and must then be the very same directory.
class directory_stack {
 public:
  explicit directory_stack(sys::unique_fd top);

  sys::fd_ref current() const { return levels_.back().fd; }
  std::size_t depth() const { return levels_.size(); }

  // 0 or an errno. After a failure the stack is as before.
  int enter(const char* name);
  // To the directory above: 0, or an errno when it is no longer there (moved meanwhile): the walk can't go on.
  int leave();

 private:
  struct level {
    sys::unique_fd fd;
    dev_t device = 0;
    ino_t inode = 0;
  };
  int push(sys::unique_fd fd);
  std::vector<level> levels_;
};

}  // namespace sbx::fs
