// Walking a path part by part: what openat2 does in one call, for the paths it can't judge (links, "..", no openat2).
// Internal to daemon/fs.
#pragma once

#include <string>

#include "daemon/fs/resolve.hpp"

namespace sbx::fs {

// Begins at root `start` with `rest` (relative; any "..", links and slashes). `found` has its path set.
result<place> walk_path(const root_set& roots, std::size_t start, const std::string& rest, place found,
                        const resolve_options& options, const call& how);

// The root that an absolute path begins with and what follows, or none.
struct root_match {
  root_match() = default;
  std::size_t index = 0;
  std::string rest;
};
bool match_root(const root_set& roots, const std::string& absolute, root_match& found);

}  // namespace sbx::fs
