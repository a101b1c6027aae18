#include "daemon/fs/replace.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "daemon/fs/errors.hpp"
#include "daemon/sys/beneath.hpp"

namespace sbx::fs {
namespace {

constexpr int resolve_attempts_max = 16;

tl::unexpected<error> exists_conflict(const place& target) {
  return fail(error_kind::conflict, printable(target.path) + " exists already");
}

int sync_directory(const place& target) {
  const sys::unique_fd fd(sys::reopen(target.directory, O_RDONLY | O_DIRECTORY));
  return fd && ::fsync(fd.get()) != 0 ? errno : 0;
}

// Access lists, labels and users' own attributes go along where that is permitted. (Capabilities don't: a write ends
// them.)
void copy_attributes(const place& target, sys::fd_ref to) {
  const std::string from = sys::descriptor_path(target.object);
  std::vector<char> names(4096), value(4096);
  const ssize_t length = ::listxattr(from.c_str(), names.data(), names.size());
  for (const char* name = names.data(); length > 0 && name < names.data() + length; name += std::strlen(name) + 1) {
    if (std::strcmp(name, "security.capability") == 0) continue;
    const ssize_t size = ::getxattr(from.c_str(), name, value.data(), value.size());
    if (size >= 0) ::fsetxattr(to.get(), name, value.data(), static_cast<std::size_t>(size), 0);
  }
}

// Mode and owner of the file it will be. False when the owner can't be kept: then the file is written in place.
bool dress(const place& target, const replace_request& request, const call& how, sys::fd_ref temp) {
  mode_t mode = request.mode.value_or(0666 & ~how.umask);
  if (target.exists()) {
    mode = request.mode.value_or(target.status.st_mode & 07777);
    struct stat fresh {};
    if (::fstat(temp.get(), &fresh) != 0) return false;
    const bool same_owner = fresh.st_uid == target.status.st_uid && fresh.st_gid == target.status.st_gid;
    if (!same_owner && ::fchown(temp.get(), target.status.st_uid, target.status.st_gid) != 0) return false;
    copy_attributes(target, temp);
  }
  return ::fchmod(temp.get(), mode) == 0;
}

// Without the permission to write the file it isn't replaced either, though the directory would allow it.
result<void> check_writable(const place& target) {
  const std::string path = sys::descriptor_path(target.object);
  if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) return fail_at(errno, "writing", target.path);
  return {};
}

result<struct stat> finished(const place& target, sys::fd_ref file) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return fail_at(errno, "looking at", target.path);
  return status;
}

result<struct stat> write_in_place(const place& target, const replace_request& request, const call& how) {
  auto fd = reopen_file(target, O_WRONLY, how);
  if (!fd) return fail(std::move(fd.error()));
  // Room first: what does not fit is found out while the old content is still there.
  if (request.bytes > 0 && ::fallocate(fd->get(), FALLOC_FL_KEEP_SIZE, 0, request.bytes) != 0 && errno != EOPNOTSUPP &&
      errno != ENOSYS) {
    return fail_at(errno, "writing", target.path);
  }
  if (const int failed = request.write(*fd); failed != 0) return fail_at(failed, "writing", target.path);
  if (::ftruncate(fd->get(), request.bytes) != 0) return fail_at(errno, "writing", target.path);
  if (request.mode && ::fchmod(fd->get(), *request.mode) != 0)
    return fail_at(errno, "changing the mode of", target.path);
  if (request.sync && ::fsync(fd->get()) != 0) return fail_at(errno, "syncing", target.path);
  return finished(target, *fd);
}

bool not_replaceable(int failed) {
  return failed == -EACCES || failed == -EPERM || failed == -EROFS || failed == -EBUSY || failed == -ETXTBSY;
}

}  // namespace

result<struct stat> replace_content(const place& target, const replace_request& request, const call& how) {
  if (target.exists() && request.only_new) return exists_conflict(target);
  if (target.exists()) {
    if (auto writable = check_writable(target); !writable) return fail(std::move(writable.error()));
    if (target.status.st_nlink > 1) return write_in_place(target, request, how);
  }
  int failed = 0;
  temp_file temp = temp_file::create(target.directory, failed);
  if (failed != 0 && target.exists() && not_replaceable(failed)) return write_in_place(target, request, how);
  if (failed != 0) return fail_at(-failed, "writing", target.path);
  if (!dress(target, request, how, temp.fd())) {
    if (target.exists()) return write_in_place(target, request, how);
    return fail_at(errno, "changing the mode of", target.path);
  }
  if (failed = request.write(temp.fd()); failed != 0) return fail_at(failed, "writing", target.path);
  if (request.sync && ::fsync(temp.fd().get()) != 0) return fail_at(errno, "syncing", target.path);
  failed = target.exists() ? temp.publish_over(target.name.c_str()) : temp.publish_new(target.name.c_str());
  if (target.exists() && not_replaceable(failed)) return write_in_place(target, request, how);
  if (failed == -EEXIST) return exists_conflict(target);
  if (failed != 0) return fail_at(-failed, "writing", target.path);
  if (request.sync) {
    if (failed = sync_directory(target); failed != 0) return fail_at(failed, "syncing", target.path);
  }
  return finished(target, temp.fd());
}

result<held_target> hold_target(const root_set& roots, const std::string& path, wants wanted, const call& how) {
  const resolve_options options(last_link::follow, wanted, intent::change);
  for (int attempt = 0; attempt < resolve_attempts_max; ++attempt) {
    auto found = resolve(roots, path, options, how);
    if (!found) return fail(std::move(found.error()));
    if (found->exists() && !found->is_regular()) return not_a_file(type_of(found->status), path);
    if (found->slash) return fail_at(EISDIR, "writing", path);
    auto lock = target_lock::take(*found, how);
    if (!lock) return fail(std::move(lock.error()));
    // What has the name now, that it is our turn?
    sys::unique_fd now(sys::open_step(found->directory, found->name.c_str()));
    if (!now && found->exists() && wanted == wants::object) continue;
    found->object = std::move(now);
    found->status = {};
    if (found->object && ::fstat(found->object.get(), &found->status) != 0) return fail_at(errno, "looking at", path);
    if (!found->object || found->is_regular()) return held_target(std::move(*found), std::move(*lock));
  }
  return fail_at(EAGAIN, "writing", path);
}

}  // namespace sbx::fs
