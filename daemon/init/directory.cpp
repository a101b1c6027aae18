#include "daemon/init/directory.hpp"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sbx::init {

namespace {

constexpr std::size_t path_bytes_max = 8192;
constexpr int links_max = 40;

// One kernel-made decision; links that are absolute, or that leave and come back, it can't decide (EXDEV).
int open_beneath(int root, const char* path) {
  open_how how = {};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  int fd = -1;
  for (int tries = 0; tries < 32; ++tries) {
    fd = static_cast<int>(syscall(SYS_openat2, root, path, &how, sizeof how));
    if (fd >= 0 || errno != EAGAIN) break;
  }
  return fd;
}

int open_root(const char* root) {
  return open(root, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

// The step by step way to the same verdicts. Remembers where it is as text without links, so that ".." never asks the
// kernel for a parent that may have been moved.
class walk {
 public:
  walk(const char* const* roots, std::uint32_t root_count) : roots_(roots), root_count_(root_count) {}

  // Answers the directory, or -1 with failure() set.
  int find(const char* path) {
    if (!begin_at(path)) return -1;
    while (const char* name = next_name())
      if (!step(name)) return -1;
    return directory_;
  }
  entered failure() const { return failure_; }

 private:
  bool fail(int error, wire::reason reason = wire::reason::bad_cwd) {
    failure_ = {error, reason};
    return false;
  }
  bool outside() { return fail(EXDEV, wire::reason::cwd_outside); }

  // At the root that `path` begins with; the rest of it is ahead of what was left to do. `path` may lie in scratch_.
  bool begin_at(const char* path) {
    const char* best = nullptr;
    std::size_t best_length = 0;
    for (std::uint32_t i = 0; i < root_count_; ++i) {
      std::size_t length = strlen(roots_[i]);
      if (length == 1) length = 0;  // "/"
      if (strncmp(path, roots_[i], length) != 0 || (path[length] != '/' && path[length] != 0)) continue;
      if (best && length <= best_length) continue;
      best = roots_[i];
      best_length = length;
    }
    if (!best) return outside();
    root_ = best;
    here_[0] = 0;
    return move_to(open_root(root_)) && prepend(path + best_length);
  }

  bool move_to(int fd) {
    if (fd < 0) return fail(errno);
    if (directory_ >= 0) close(directory_);
    directory_ = fd;
    return true;
  }

  bool prepend(const char* text) {
    const std::size_t length = strlen(text), left = strlen(rest_ + at_);
    if (length + 1 + left + 1 > sizeof rest_) return fail(ENAMETOOLONG);
    memmove(rest_ + length + 1, rest_ + at_, left + 1);
    memcpy(rest_, text, length);
    rest_[length] = '/';
    at_ = 0;
    return true;
  }

  const char* next_name() {
    while (rest_[at_] == '/') ++at_;
    if (rest_[at_] == 0) return nullptr;
    std::size_t length = strcspn(rest_ + at_, "/");
    if (length > 255) length = 256;  // too long for any directory: the kernel says so
    memcpy(name_, rest_ + at_, length);
    name_[length] = 0;
    at_ += strcspn(rest_ + at_, "/");
    return name_;
  }

  bool step(const char* name) {
    if (strcmp(name, ".") == 0) return true;
    if (strcmp(name, "..") == 0) return go_up();
    const int found = openat(directory_, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat info;
    if (found < 0 || fstat(found, &info) != 0) return fail(errno);
    if (S_ISLNK(info.st_mode)) return follow(found);
    if (!S_ISDIR(info.st_mode)) return fail(ENOTDIR);
    const std::size_t length = strlen(here_), more = strlen(name);
    if (length + more + 2 > sizeof here_) return fail(ENAMETOOLONG);
    here_[length] = '/';
    memcpy(here_ + length + 1, name, more + 1);
    return move_to(found);
  }

  bool follow(int link) {
    if (++links_ > links_max) return fail(ELOOP);
    const ssize_t length = readlinkat(link, "", scratch_, sizeof scratch_ - 1);
    close(link);
    if (length <= 0) return fail(length < 0 ? errno : ENOENT);
    scratch_[length] = 0;
    return scratch_[0] == '/' ? begin_at(scratch_) : prepend(scratch_);
  }

  bool go_up() {
    char* const last = strrchr(here_, '/');
    if (!last) return outside();
    *last = 0;
    int fd = open_root(root_);
    for (char* at = here_; fd >= 0 && *at;) {
      const std::size_t length = strcspn(++at, "/");
      const char after = at[length];
      at[length] = 0;
      const int next = openat(fd, at, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      const int error = errno;
      at[length] = after;
      close(fd);
      errno = error;
      fd = next;
      at += length;
    }
    return move_to(fd);
  }

  const char* const* roots_;
  std::uint32_t root_count_;
  const char* root_ = nullptr;
  int directory_ = -1;
  int links_ = 0;
  std::size_t at_ = 0;              // in rest_: what is still to do
  char here_[path_bytes_max] = {};  // below the root: "" or "/name/name"
  char rest_[path_bytes_max] = {};
  char scratch_[path_bytes_max];
  char name_[257];
  entered failure_ = {0, wire::reason::other};
};

entered enter(int directory) {
  const int status = fchdir(directory);
  const int error = errno;
  close(directory);
  if (status != 0) return {error, wire::reason::bad_cwd};
  return {0, wire::reason::other};
}

// Most paths hold no link at all: one open and one question.
int find_quickly(const char* path, const char* const* roots, std::uint32_t root_count) {
  for (std::uint32_t i = 0; i < root_count; ++i) {
    const std::size_t length = strlen(roots[i]);
    if (length < 2 || strncmp(path, roots[i], length) != 0) continue;
    if (path[length] == 0) return open_root(roots[i]);
    if (path[length] != '/') continue;
    const char* below = path + length;
    while (*below == '/') ++below;
    const int root = open_root(roots[i]);
    if (root < 0 || *below == 0) return root;
    const int found = open_beneath(root, below);
    close(root);
    return found;
  }
  return -1;
}

}  // namespace

entered enter_directory(const char* path, const char* const* roots, std::uint32_t root_count) {
  if (root_count == 0) return {chdir(path) == 0 ? 0 : errno, wire::reason::bad_cwd};
  const int quick = find_quickly(path, roots, root_count);
  if (quick >= 0) return enter(quick);
  walk slow(roots, root_count);
  const int found = slow.find(path);
  return found >= 0 ? enter(found) : slow.failure();
}

}  // namespace sbx::init
