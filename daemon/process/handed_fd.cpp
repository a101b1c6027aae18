#include "daemon/process/handed_fd.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>

namespace sbx::process {

result<void> check_handed_fd(sys::fd_ref fd, direction way, handing how) {
  const int flags = ::fcntl(fd.get(), F_GETFL);
  struct stat info {};
  if (flags < 0 || ::fstat(fd.get(), &info) != 0) return fail_system(errno, "looking at a descriptor");
  if ((flags & O_PATH) != 0) return fail(error_kind::invalid_params, "the descriptor was opened for its path alone");
  const bool is_null = S_ISCHR(info.st_mode) && info.st_rdev == makedev(1, 3);
  if (how == handing::walled && !S_ISFIFO(info.st_mode) && !S_ISSOCK(info.st_mode) && !is_null)
    return fail(error_kind::invalid_params, "the descriptor must be a pipe, a socket or /dev/null");
  const int access = flags & O_ACCMODE;
  const bool fits = way == direction::command_reads ? access != O_WRONLY : access != O_RDONLY;
  if (!fits) return fail(error_kind::invalid_params, "the descriptor is open in the wrong direction");
  return {};
}

}  // namespace sbx::process
