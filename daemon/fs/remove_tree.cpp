#include "daemon/fs/remove_tree.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "daemon/fs/copy_tree.hpp"
#include "daemon/fs/directory.hpp"
#include "daemon/fs/errors.hpp"
#include "daemon/sys/beneath.hpp"

namespace sbx::fs {
namespace {

// Names that come into a directory while it is emptied are removed in further rounds, but not for ever.
constexpr int rounds_max = 16;

struct frame {
  std::string name;  // in the directory above
  std::vector<directory_entry> entries;
  int rounds = 0;
};

class removal {
 public:
  removal(sys::unique_fd top, locked_directories locked, const call& how)
      : how_(how), locked_(locked), directories_(std::move(top)) {}

  int run() {
    frames_.emplace_back();
    int failed = read_again();
    while (failed == 0) {
      if (how_.stop.stopped()) return ECANCELED;
      if (!frames_.back().entries.empty()) {
        failed = remove_next();
      } else if (frames_.size() == 1) {
        return 0;
      } else {
        failed = finish_directory();
      }
    }
    return failed;
  }

 private:
  int read_again() {
    unlock(directories_.current());
    return read_entries(directories_.current(), how_, frames_.back().entries);
  }

  void unlock(sys::fd_ref directory) const {
    struct stat status {};
    if (locked_ == locked_directories::fail || ::fstat(directory.get(), &status) != 0) return;
    if ((status.st_mode & 0700) != 0700) ::fchmod(directory.get(), 0700);
  }

  int remove_next() {
    const directory_entry entry = std::move(frames_.back().entries.back());
    frames_.back().entries.pop_back();
    if (::unlinkat(directories_.current().get(), entry.name.c_str(), 0) == 0 || errno == ENOENT) return 0;
    // EISDIR on Linux; EPERM is what POSIX says.
    if (errno != EISDIR && errno != EPERM) return errno;
    const int number = errno;
    int failed = directories_.enter(entry.name.c_str());
    if (failed == EACCES && locked_ == locked_directories::unlock) failed = unlock_and_enter(entry.name);
    if (failed == ENOENT) return 0;
    if (failed == ENOTDIR || failed == ELOOP) return number;
    if (failed != 0) return failed;
    frames_.emplace_back();
    frames_.back().name = entry.name;
    return read_again();
  }

  int unlock_and_enter(const std::string& name) {
    const sys::unique_fd object(sys::open_step(directories_.current(), name.c_str()));
    struct stat status {};
    if (!object || ::fstat(object.get(), &status) != 0 || !S_ISDIR(status.st_mode)) return EACCES;
    if (::chmod(sys::descriptor_path(object).c_str(), 0700) != 0) return errno;
    return directories_.enter(name.c_str());
  }

  int finish_directory() {
    const frame done = std::move(frames_.back());
    frames_.pop_back();
    if (const int failed = directories_.leave(); failed != 0) return failed;
    if (::unlinkat(directories_.current().get(), done.name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return 0;
    const int number = errno;
    if (number != ENOTEMPTY && number != EEXIST) return number;
    if (done.rounds == rounds_max) return number;
    if (const int failed = directories_.enter(done.name.c_str()); failed != 0) return failed;
    frames_.emplace_back();
    frames_.back().name = done.name;
    frames_.back().rounds = done.rounds + 1;
    return read_again();
  }

  const call& how_;
  const locked_directories locked_;
  directory_stack directories_;
  std::vector<frame> frames_;
};

}  // namespace

int remove_below(sys::unique_fd top, locked_directories locked, const call& how) {
  return removal(std::move(top), locked, how).run();
}

int remove_name(sys::fd_ref directory, const char* name, locked_directories locked, const call& how) {
  if (::unlinkat(directory.get(), name, 0) == 0) return 0;
  if (errno != EISDIR && errno != EPERM) return errno;
  const int number = errno;
  const int fd = open_subdirectory(directory, name);
  if (fd == -ENOTDIR || fd == -ELOOP) return number;
  if (fd < 0) return -fd;
  if (const int failed = remove_below(sys::unique_fd(fd), locked, how); failed != 0) return failed;
  return ::unlinkat(directory.get(), name, AT_REMOVEDIR) == 0 ? 0 : errno;
}

result<void> remove_contents(sys::fd_ref directory, const call& how) {
  sys::unique_fd top(sys::reopen(directory, O_RDONLY | O_DIRECTORY));
  if (!top) return fail_at(errno, "removing what is in", "a directory");
  const int failed = remove_below(std::move(top), locked_directories::unlock, how);
  if (failed == ECANCELED) return cancelled();
  if (failed != 0) return fail_at(failed, "removing what is in", "a directory");
  return {};
}

}  // namespace sbx::fs
