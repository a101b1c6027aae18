// Whole reads and writes on descriptors of regular files. Internal to daemon/fs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/fs/call.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::fs {

// pread until `bytes_max` or the end: 0, or an errno. `out` is replaced.
int read_up_to(sys::fd_ref file, std::int64_t offset, std::int64_t bytes_max, std::string& out);

// One full pread into a buffer: how many bytes, fewer only at the end; or a negated errno.
std::int64_t read_fully(sys::fd_ref file, std::int64_t offset, char* buffer, std::size_t size);

// write until all is written: 0, or an errno. `written` (optional) counts even after a failure.
int write_fully(sys::fd_ref file, std::string_view data, std::size_t* written = nullptr);

// Copies everything from offset 0 of `source` to the position of `target`: by reflink, copy_file_range, else by hand;
// holes stay holes where the system keeps them. 0, or an errno (ECANCELED when how.stop asks).
int copy_content(sys::fd_ref source, sys::fd_ref target, const call& how, std::int64_t& bytes);

}  // namespace sbx::fs
