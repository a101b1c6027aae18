// The errors of file operations, said the same way everywhere. Internal to daemon/fs.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/fs/file_ops.hpp"
#include "daemon/sys/error.hpp"

namespace sbx::fs {

// For messages: invalid UTF-8 replaced, long texts cut.
std::string printable(std::string_view bytes);

// A failed system call on `path`, as the caller wrote it. ENOENT is not_found {path, errno}, else io {errno, path}.
tl::unexpected<error> fail_at(int number, std::string_view doing, std::string_view path);

tl::unexpected<error> denied(std::string_view reason);
tl::unexpected<error> denied_outside();  // the one answer for everything that would leave the roots
tl::unexpected<error> denied_by_rule();
tl::unexpected<error> invalid(std::string_view pointer, std::string_view message);
tl::unexpected<error> not_a_file(file_type type, std::string_view path);
tl::unexpected<error> cancelled();
tl::unexpected<error> needs_pool();  // would_block() is true for it

file_type type_of(const struct stat& status);
inline std::int64_t mtime_ns(const struct stat& status) {
  return std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
}

}  // namespace sbx::fs
