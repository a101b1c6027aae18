#include "daemon/fs/search_start.hpp"

#include <fcntl.h>

#include <cerrno>

#include "daemon/fs/errors.hpp"
#include "daemon/fs/walk_path.hpp"
#include "daemon/sys/beneath.hpp"

namespace sbx::fs {
namespace {

result<search_start> start_at(const root_set& roots, const std::string& path, const call& how) {
  resolve_options options(last_link::follow, wants::object_alone, intent::look);
  options.empty_is_root = true;
  auto found = resolve(roots, path, options, how);
  if (!found) return fail(std::move(found.error()));
  search_start start;
  start.where = found->where;
  if (found->is_directory()) {
    start.directory.reset(sys::reopen(found->object, O_RDONLY | O_DIRECTORY));
    if (!start.directory) return fail_at(errno, "opening", path);
  } else if (found->is_regular()) {
    start.file = std::move(*found);
  } else {
    return fail_at(ENOTDIR, "searching", path);
  }
  return start;
}

}  // namespace

result<std::vector<search_start>> search_starts(const root_set& roots, const std::optional<std::string>& path,
                                                const call& how) {
  std::vector<std::string> paths;
  if (path) {
    paths.push_back(*path);
  } else {
    for (const root& one : roots.roots()) paths.push_back(one.path);
  }
  std::vector<search_start> starts;
  for (const std::string& one : paths) {
    auto start = start_at(roots, one, how);
    if (!start) return fail(std::move(start.error()));
    starts.push_back(std::move(*start));
  }
  return starts;
}

result<void> take_root_off(const root_set& roots, std::string& pattern, std::optional<std::string>& path) {
  if (pattern.empty() || pattern.front() != '/') return {};
  root_match found;
  if (!match_root(roots, pattern, found)) return denied_outside();
  if (path) return invalid("/pattern", "either a path or a pattern that is absolute");
  path = roots.at(found.index).path;
  pattern = found.rest.empty() ? std::string() : found.rest.substr(1);
  return {};
}

}  // namespace sbx::fs
