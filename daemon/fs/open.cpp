#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "daemon/fs/errors.hpp"
#include "daemon/fs/file_ops.hpp"
#include "daemon/fs/resolve.hpp"

namespace sbx::fs {
namespace {

constexpr int attempts_max = 16;

int flags_of(open_mode mode) {
  switch (mode) {
    case open_mode::read:
      return O_RDONLY;
    case open_mode::write:
      return O_WRONLY | O_TRUNC;
    case open_mode::read_write:
      return O_RDWR;
    case open_mode::append:
      return O_WRONLY | O_APPEND;
  }
  return O_RDONLY;
}

result<sys::unique_fd> create_file(const place& target, int flags, const call& how) {
  const int wanted = (flags & ~O_TRUNC) | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const mode_t mode = 0666 & ~how.umask;
  sys::unique_fd fd(::openat(target.directory.get(), target.name.c_str(), wanted, mode));
  if (!fd) return fail_at(errno, "creating", target.path);
  if (::fchmod(fd.get(), mode) != 0) return fail_at(errno, "changing the mode of", target.path);
  return fd;
}

}  // namespace

result<sys::unique_fd> open_file(const root_set& roots, const open_request& request, const call& how) {
  const intent purpose = request.mode == open_mode::read && !request.create ? intent::look : intent::change;
  const wants wanted = request.create ? wants::name : wants::object_alone;
  const resolve_options options(last_link::follow, wanted, purpose);
  for (int attempt = 0;; ++attempt) {
    auto found = resolve(roots, request.path, options, how);
    if (!found) return fail(std::move(found.error()));
    if (found->exists()) return reopen_file(*found, flags_of(request.mode), how);
    if (found->slash) return fail_at(EISDIR, "creating", request.path);
    auto made = create_file(*found, flags_of(request.mode), how);
    // Somebody else made it since we looked.
    const bool raced = !made && made.error().number == EEXIST && attempt < attempts_max;
    if (!raced) return made;
  }
}

}  // namespace sbx::fs
