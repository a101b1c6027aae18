#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "daemon/fs/errors.hpp"
#include "daemon/fs/file_ops.hpp"
#include "daemon/fs/remove_tree.hpp"
#include "daemon/fs/rule_check.hpp"
#include "daemon/fs/transfer.hpp"

namespace sbx::fs {
namespace {

tl::unexpected<error> exists(const place& target) {
  return fail(error_kind::conflict, printable(target.path) + " exists already");
}

bool same_object(const place& one, const place& other) {
  return one.exists() && other.exists() && one.status.st_dev == other.status.st_dev &&
         one.status.st_ino == other.status.st_ino;
}

// As rename(2) has it: a directory takes only an empty directory's place, anything else never a directory's.
result<void> check_replaceable(const place& source, const place& target) {
  if (!target.exists()) return {};
  if (source.is_directory() && !target.is_directory()) return fail_at(ENOTDIR, "replacing", target.path);
  if (!source.is_directory() && target.is_directory()) return fail_at(EISDIR, "replacing", target.path);
  return {};
}

result<void> move_across(const place& source, const place& target, bool overwrite, const call& how) {
  auto copied = copy_object(source, target, overwrite, after_copy::remove_source, how);
  if (!copied) return copied;
  const int failed = remove_name(source.directory, source.name.c_str(), locked_directories::fail, call());
  if (failed != 0) return fail_at(failed, "removing", source.path);
  return {};
}

}  // namespace

result<void> move_path(const root_set& roots, const transfer_request& request, const call& how) {
  auto source = resolve_name(roots, request.path, wants::object, intent::change, "/path", how);
  if (!source) return fail(std::move(source.error()));
  auto target = resolve_name(roots, request.to, wants::name, intent::change, "/to", how);
  if (!target) return fail(std::move(target.error()));
  if (how.on_reactor && !roots.rules().empty()) return needs_pool();
  const bool onto_itself =
      source->where.root_index == target->where.root_index && source->where.relative == target->where.relative;
  if (target->exists() && !request.overwrite) return exists(*target);
  if (onto_itself) return {};
  auto allowed = check_tree_rules(roots, *source, intent::change, target->where, how);
  if (!allowed) return allowed;
  if (auto fits = check_replaceable(*source, *target); !fits) return fits;
  const int failed = rename_to(source->directory, source->name.c_str(), *target, request.overwrite);
  if (failed == EEXIST && !request.overwrite) return exists(*target);
  if (failed == EXDEV && how.on_reactor) return needs_pool();
  if (failed == EXDEV) return move_across(*source, *target, request.overwrite, how);
  if (failed != 0) return fail_at(failed == EEXIST ? ENOTEMPTY : failed, "moving", request.path);
  // rename(2) leaves both names when they are two of one file.
  if (same_object(*source, *target)) ::unlinkat(source->directory.get(), source->name.c_str(), 0);
  return {};
}

result<void> copy_path(const root_set& roots, const transfer_request& request, const call& how) {
  if (how.on_reactor) return needs_pool();
  // Links are followed on both sides: what is copied is what a read of the path would give.
  const resolve_options from(last_link::follow, wants::object, intent::look);
  auto source = resolve(roots, request.path, from, how);
  if (!source) return fail(std::move(source.error()));
  resolve_options to(last_link::follow, wants::name, intent::change);
  to.pointer = "/to";
  std::string plain = request.to;
  while (plain.size() > 1 && plain.back() == '/') plain.pop_back();
  auto target = resolve(roots, plain, to, how);
  if (!target) return fail(std::move(target.error()));
  if (target->is_root() && request.overwrite) return denied("a root itself can't be replaced");
  if (target->exists() && !request.overwrite) return exists(*target);
  if (same_object(*source, *target)) return fail_at(EINVAL, "copying onto itself", request.to);
  if (source->is_directory() && lies_within(target->where, source->where)) {
    return fail_at(EINVAL, "copying into itself", request.to);
  }
  auto allowed = check_tree_rules(roots, *source, intent::look, target->where, how);
  if (!allowed) return allowed;
  if (auto fits = check_replaceable(*source, *target); !fits) return fits;
  return copy_object(*source, *target, request.overwrite, after_copy::leave_source, how);
}

}  // namespace sbx::fs
