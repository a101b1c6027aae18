// Copies a whole directory: contents by reflink or copy_file_range, links as links, hard links, modes and times kept.
#pragma once

#include <cstdint>

#include "daemon/fs/call.hpp"
#include "daemon/sys/error.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::fs {

struct copy_report {
  copy_report() = default;
  std::int64_t files = 0, directories = 0, links = 0, bytes = 0;
  std::int64_t skipped_special = 0;  // FIFOs, sockets, devices: never copied
};

// Copies what is in `source` into the existing directory `target` (both any kind of directory descriptor), iterative,
// by descriptors. Owners are kept where permitted. Blocks. Sees how.stop (cancelled) and tells how.progress. After a
// failure the target holds a part: the caller removes it.
result<copy_report> copy_tree(sys::fd_ref source, sys::fd_ref target, const call& how);

// Removes everything in `directory`, race-safe; the directory itself stays.
result<void> remove_contents(sys::fd_ref directory, const call& how);

}  // namespace sbx::fs
