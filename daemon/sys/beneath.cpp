#include "daemon/sys/beneath.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include "daemon/sys/probe.hpp"

namespace sbx::sys {
namespace {

constexpr int again_max = 16;

int openat2_once(int directory, const char* path, std::uint64_t flags, std::uint64_t resolve) noexcept {
  open_how how{};
  how.flags = flags;
  how.resolve = resolve;
  const long fd = ::syscall(SYS_openat2, directory, path, &how, sizeof how);
  return fd < 0 ? -errno : static_cast<int>(fd);
}

}  // namespace

bool have_openat2() {
  static const bool answer = [] {
    if (switched_off("openat2")) return false;
    unique_fd probe(openat2_once(AT_FDCWD, "/", O_PATH | O_DIRECTORY | O_CLOEXEC, RESOLVE_NO_MAGICLINKS));
    return static_cast<bool>(probe);
  }();
  return answer;
}

int open_beneath(fd_ref directory, const char* path, int flags, bool same_mount) noexcept {
  if (!have_openat2()) return -ENOSYS;
  std::uint64_t resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS;
  if (same_mount) resolve |= RESOLVE_NO_XDEV;
  int fd = -EAGAIN;
  for (int attempt = 0; attempt < again_max && (fd == -EAGAIN || fd == -EINTR); ++attempt) {
    fd = openat2_once(directory.get(), path, static_cast<std::uint64_t>(flags | O_CLOEXEC), resolve);
  }
  return fd;
}

int open_step(fd_ref directory, const char* name) noexcept {
  int fd = -1;
  do {
    fd = ::openat(directory.get(), name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  } while (fd < 0 && errno == EINTR);
  return fd < 0 ? -errno : fd;
}

int open_plain(fd_ref directory, std::string_view path) {
  const int fd = open_beneath(directory, std::string(path).c_str(), O_PATH | O_NOFOLLOW, false);
  if (fd >= 0 || (fd != -ENOSYS && fd != -ENAMETOOLONG)) return fd;
  unique_fd at;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string part(path.substr(0, slash));
    path.remove_prefix(std::min(slash + 1, path.size()));
    const int next = open_step(at ? fd_ref(at) : directory, part.c_str());
    if (next < 0) return next;
    at.reset(next);
  }
  return at ? at.release() : -ENOENT;
}

result<std::string> read_link(fd_ref link) {
  std::string text(256, '\0');
  for (;;) {
    const ssize_t length = ::readlinkat(link.get(), "", text.data(), text.size());
    if (length < 0) return fail_system(errno == ENOENT ? EINVAL : errno, "reading a symbolic link");
    if (static_cast<std::size_t>(length) < text.size()) {
      text.resize(static_cast<std::size_t>(length));
      return text;
    }
    text.resize(text.size() * 2);
  }
}

bool is_magic_link(fd_ref link, std::string_view text) noexcept {
  struct statfs filesystem {};
  if (::fstatfs(link.get(), &filesystem) != 0) return true;
  if (filesystem.f_type != PROC_SUPER_MAGIC) return false;
  // procfs' ordinary links are relative ("self/mounts"); its magic ones show a path, "socket:[1]" or "(unreachable)/x".
  return text.empty() || text.front() == '/' || text.front() == '(' || text.find(':') != std::string_view::npos;
}

std::string descriptor_path(fd_ref object) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "/proc/self/fd/%d", object.get());
  return text.data();
}

int reopen(fd_ref object, int flags) noexcept {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "/proc/self/fd/%d", object.get());
  int fd = -1;
  do {
    fd = ::open(text.data(), (flags | O_CLOEXEC | O_NOCTTY) & ~O_NOFOLLOW);
  } while (fd < 0 && errno == EINTR);
  return fd < 0 ? -errno : fd;
}

result<std::string> path_of(fd_ref object) {
  const std::string name = descriptor_path(object);
  std::string text(512, '\0');
  for (;;) {
    const ssize_t length = ::readlink(name.c_str(), text.data(), text.size());
    if (length < 0) return fail_system(errno, "reading the path of a descriptor");
    if (static_cast<std::size_t>(length) < text.size()) {
      text.resize(static_cast<std::size_t>(length));
      return text;
    }
    text.resize(text.size() * 2);
  }
}

bool is_local_filesystem(fd_ref object) noexcept {
  struct statfs filesystem {};
  if (::fstatfs(object.get(), &filesystem) != 0) return false;
  switch (static_cast<std::uint64_t>(filesystem.f_type)) {
    case EXT4_SUPER_MAGIC:
    case TMPFS_MAGIC:
    case RAMFS_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case XFS_SUPER_MAGIC:
    case F2FS_SUPER_MAGIC:
    case OVERLAYFS_SUPER_MAGIC:
    case 0x2fc12fc1:  // zfs
    case 0xca451a4e:  // bcachefs
      return true;
    default:
      return false;
  }
}

}  // namespace sbx::sys
