// Where glob and grep begin. Internal to daemon/fs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/fs/resolve.hpp"

namespace sbx::fs {

struct search_start {
  search_start() = default;
  location where;
  sys::unique_fd directory;  // open for reading; none when it is a file
  place file;                // then
};

// The roots when there is no path; else what it leads to: a directory, or a regular file (other things: io ENOTDIR).
result<std::vector<search_start>> search_starts(const root_set& roots, const std::optional<std::string>& path,
                                                const call& how);

// A pattern that begins with a root's path searches there: takes that off. denied: it begins with something else.
result<void> take_root_off(const root_set& roots, std::string& pattern, std::optional<std::string>& path);

}  // namespace sbx::fs
