#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "daemon/fs/errors.hpp"
#include "daemon/fs/file_ops.hpp"
#include "daemon/fs/remove_tree.hpp"
#include "daemon/fs/resolve.hpp"
#include "daemon/fs/rule_check.hpp"
#include "daemon/fs/transfer.hpp"

namespace sbx::fs {

result<place> resolve_name(const root_set& roots, const std::string& path, wants wanted, intent purpose,
                           const char* pointer, const call& how) {
  // "link/" would lead to what the link names; it is the link that is meant. "a/." and "a/.." name nothing of their
  // own.
  std::string plain = path;
  while (plain.size() > 1 && plain.back() == '/') plain.pop_back();
  resolve_options options(last_link::keep, wanted, purpose);
  options.pointer = pointer;
  auto found = resolve(roots, plain, options, how);
  if (!found) return found;
  found->path = path;
  if (found->is_root()) return denied("a root itself can't be removed, moved or replaced");
  if (found->slash) return fail_at(EINVAL, "naming", path);
  const bool slashed = plain.size() != path.size();
  if (slashed && found->exists() && S_ISREG(found->status.st_mode)) return fail_at(ENOTDIR, "opening", path);
  return found;
}

result<void> remove_path(const root_set& roots, const remove_request& request, const call& how) {
  if (how.on_reactor && request.recursive) return needs_pool();
  auto found = resolve_name(roots, request.path, wants::object, intent::change, "/path", how);
  if (!found) return fail(std::move(found.error()));
  const char* name = found->name.c_str();
  int failed = 0;
  if (!request.recursive) {
    const int flags = found->is_directory() ? AT_REMOVEDIR : 0;
    failed = ::unlinkat(found->directory.get(), name, flags) == 0 ? 0 : errno;
    if (failed == EEXIST) failed = ENOTEMPTY;
    // A directory that only holds what the rules hide is no empty one either.
  } else {
    auto allowed = check_tree_rules(roots, *found, intent::change, std::nullopt, how);
    if (!allowed) return fail(std::move(allowed.error()));
    failed = remove_name(found->directory, name, locked_directories::fail, how);
  }
  if (failed == ECANCELED) return cancelled();
  if (failed != 0) return fail_at(failed, "removing", request.path);
  return {};
}

}  // namespace sbx::fs
