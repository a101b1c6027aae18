#include <cerrno>

#include "daemon/fs/errors.hpp"
#include "daemon/fs/file_ops.hpp"
#include "daemon/fs/resolve.hpp"

namespace sbx::fs {
namespace {

// Splits the last name off a path without slashes at its end. False when there is none, or it is "." or "..".
bool split_last(std::string& path, std::string& name) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const std::size_t slash = path.rfind('/');
  name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (name.empty() || name == "." || name == "..") return false;
  path.resize(slash == std::string::npos ? 0 : slash);
  return true;
}

}  // namespace

result<location> locate(const root_set& roots, const std::string& path, last_link last, const call& how) {
  resolve_options options(last, wants::name, intent::look);
  options.empty_is_root = true;
  std::string parents = path, missing;
  for (;;) {
    auto found = resolve(roots, parents, options, how);
    if (found) {
      location where = found->where;
      where.relative = joined(where.relative, missing);
      if (!missing.empty() && roots.rules().denies(where.relative)) return denied_by_rule();
      return where;
    }
    if (found.error().kind != error_kind::not_found) return fail(std::move(found.error()));
    std::string name;
    if (how.stop.stopped()) return cancelled();
    if (!split_last(parents, name)) return fail(std::move(found.error()));
    missing = joined(name, missing);
    options.last = last_link::follow;
  }
}

result<start_directory> resolve_start_directory(const root_set& roots, const std::string& cwd, const call& how) {
  resolve_options options(last_link::follow, wants::object_alone, intent::look);
  options.empty_is_root = true;
  options.pointer = "/cwd";
  auto found = resolve(roots, cwd, options, how);
  if (!found) return fail(std::move(found.error()));
  if (!found->is_directory()) return fail_at(ENOTDIR, "entering", cwd);
  start_directory start;
  start.where = found->where;
  start.root = roots.at(found->where.root_index).path;
  start.path = roots.absolute_path(found->where);
  return start;
}

}  // namespace sbx::fs
