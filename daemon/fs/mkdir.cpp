#include <cerrno>

#include "daemon/fs/errors.hpp"
#include "daemon/fs/file_ops.hpp"
#include "daemon/fs/resolve.hpp"

namespace sbx::fs {
namespace {

tl::unexpected<error> exists(const std::string& path) {
  return fail(error_kind::conflict, printable(path) + " exists already");
}

}  // namespace

result<void> make_directory(const root_set& roots, const mkdir_request& request, const call& how) {
  const wants wanted = request.parents ? wants::name_making_parents : wants::name;
  // With parents a link to a directory is as good as one; without, a link is something that exists.
  const resolve_options options(request.parents ? last_link::follow : last_link::keep, wanted, intent::change);
  auto found = resolve(roots, request.path, options, how);
  if (!found) return fail(std::move(found.error()));
  if (found->exists()) {
    if (request.parents && found->is_directory()) return {};
    return exists(request.path);
  }
  const char* name = found->name.c_str();
  const int fd = request.parents ? make_step(found->directory, name, how) : make_new_step(found->directory, name, how);
  const sys::unique_fd made(fd);
  if (made) return {};
  return fd == -EEXIST || fd == -ENOTDIR ? exists(request.path) : fail_at(-fd, "making", request.path);
}

}  // namespace sbx::fs
