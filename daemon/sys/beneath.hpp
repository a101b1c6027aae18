// Opening below a directory without ever leaving it. The one place that turns names into descriptors.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/sys/error.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::sys {

// True when openat2(2) works here: probed once, on "/"; SBX_FEATURES_OFF=openat2 says no.
bool have_openat2();

// Opens `path` (relative, no link in it, no "..") below `directory` in one system call. flags: O_PATH or others;
// O_CLOEXEC is added. `same_mount` also refuses to cross mounts. Returns the negated errno: -ELOOP a link is in the way
// (the caller then walks), -ENOSYS there is no openat2, -EXDEV a mount was crossed. EAGAIN is retried a bounded number
// of times.
int open_beneath(fd_ref directory, const char* path, int flags, bool same_mount) noexcept;

// One step: opens `name` (no slash, not "..") in `directory` with O_PATH | O_NOFOLLOW. Negated errno.
int open_step(fd_ref directory, const char* name) noexcept;

// Opens `path` (as for open_beneath, any length) with O_PATH, by openat2 or step by step; the last part may be a link
// and is not followed. Negated errno; -ENOTDIR or -ELOOP: there is a link in the way.
int open_plain(fd_ref directory, std::string_view path);

// The text of the symbolic link that `link` (O_PATH | O_NOFOLLOW) is. EINVAL when it is none.
result<std::string> read_link(fd_ref link);

// True for a link that the kernel resolves by itself instead of by its text (/proc/PID/{exe,cwd,root,fd/*,ns/*}).
bool is_magic_link(fd_ref link, std::string_view text) noexcept;

// Opens anew, with other flags, what `object` refers to. By /proc/self/fd, of our own descriptor only. Negated errno.
int reopen(fd_ref object, int flags) noexcept;

// "/proc/self/fd/N": for the calls that take paths alone.
std::string descriptor_path(fd_ref object);

// The kernel's own path of an object ("/proc/self/fd/N" read as a link).
result<std::string> path_of(fd_ref object);

// Local file systems (disk or memory) do not hang; network ones and FUSE may.
bool is_local_filesystem(fd_ref object) noexcept;

}  // namespace sbx::sys
