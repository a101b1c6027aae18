#include "daemon/fs/directory.hpp"

#include <dirent.h>
#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace sbx::fs {
namespace {

constexpr std::size_t levels_open_max = 24;

struct close_dir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

bool is_dot(const char* name) {
  return std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0;
}

}  // namespace

int for_each_entry(sys::fd_ref directory, const call& how,
                   const std::function<bool(const char* name, unsigned type)>& each) {
  // A description of its own: reading moves a position.
  sys::unique_fd own(::openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!own) return errno;
  std::unique_ptr<DIR, close_dir> dir(::fdopendir(own.get()));
  if (!dir) return errno;
  own.release();
  for (std::size_t count = 0;; ++count) {
    if (count % 256 == 0 && how.stop.stopped()) return ECANCELED;
    errno = 0;
    const dirent* entry = ::readdir(dir.get());
    if (!entry) return errno;
    if (!is_dot(entry->d_name) && !each(entry->d_name, entry->d_type)) return 0;
  }
}

int read_entries(sys::fd_ref directory, const call& how, std::vector<directory_entry>& out) {
  out.clear();
  return for_each_entry(directory, how, [&](const char* name, unsigned type) {
    directory_entry entry;
    entry.name = name;
    entry.maybe_directory = type == DT_DIR || type == DT_UNKNOWN;
    entry.surely_file = type == DT_REG;
    out.push_back(std::move(entry));
    return true;
  });
}

int open_subdirectory(sys::fd_ref directory, const char* name) noexcept {
  const int fd = ::openat(directory.get(), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  return fd < 0 ? -errno : fd;
}

directory_stack::directory_stack(sys::unique_fd top) {
  push(std::move(top));
}

int directory_stack::push(sys::unique_fd fd) {
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return errno;
  level next;
  next.fd = std::move(fd);
  next.device = status.st_dev;
  next.inode = status.st_ino;
  levels_.push_back(std::move(next));
  if (levels_.size() > levels_open_max) levels_[levels_.size() - 1 - levels_open_max].fd.reset();
  return 0;
}

int directory_stack::enter(const char* name) {
  const int fd = open_subdirectory(current(), name);
  return fd < 0 ? -fd : push(sys::unique_fd(fd));
}

int directory_stack::leave() {
  const level last = std::move(levels_.back());
  levels_.pop_back();
  if (levels_.empty() || levels_.back().fd) return 0;
  sys::unique_fd up(::openat(last.fd.get(), "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat status {};
  if (!up || ::fstat(up.get(), &status) != 0) return errno;
  if (status.st_dev != levels_.back().device || status.st_ino != levels_.back().inode) return ESTALE;
  levels_.back().fd = std::move(up);
  return 0;
}

}  // namespace sbx::fs
