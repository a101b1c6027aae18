#include "daemon/fs/root.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "daemon/fs/errors.hpp"
#include "daemon/sys/beneath.hpp"

namespace sbx::fs {
namespace {

result<root> open_root(const std::string& path) {
  if (path.find('\0') != std::string::npos) return invalid("/roots", "a root's path contains NUL");
  if (path.empty() || path.front() != '/') return invalid("/roots", "a root's path is absolute");
  sys::unique_fd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return fail_at(errno, "opening the root", path);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return fail_at(errno, "looking at the root", path);
  auto canonical = sys::path_of(fd);
  if (!canonical) return fail(std::move(canonical.error()));
  root one;
  one.path = std::move(*canonical);
  one.device = status.st_dev;
  one.inode = status.st_ino;
  one.local = sys::is_local_filesystem(fd);
  one.fd = std::make_shared<sys::unique_fd>(std::move(fd));
  return one;
}

bool lies_in(const std::string& inner, const std::string& outer) {
  if (outer == "/" || inner == outer) return true;
  return inner.size() > outer.size() && inner.compare(0, outer.size(), outer) == 0 && inner[outer.size()] == '/';
}

bool overlap(const root& one, const root& other) {
  if (one.device == other.device && one.inode == other.inode) return true;
  return lies_in(one.path, other.path) || lies_in(other.path, one.path);
}

}  // namespace

result<root_set> root_set::open(const std::vector<std::string>& paths, policy rules) {
  if (paths.empty()) return invalid("/roots", "a workspace has at least one root");
  root_set set;
  set.rules_ = std::make_shared<const policy>(std::move(rules));
  for (const std::string& path : paths) {
    auto one = open_root(path);
    if (!one) return fail(std::move(one.error()));
    for (const root& other : set.roots_) {
      if (overlap(*one, other)) return invalid("/roots", "no root may be or lie inside another");
    }
    set.roots_.push_back(std::move(*one));
  }
  return set;
}

bool root_set::local() const {
  for (const root& one : roots_) {
    if (!one.local) return false;
  }
  return true;
}

result<void> root_set::check_present(std::size_t index) const {
  const root& one = roots_[index];
  struct stat status {};
  const bool found = ::fstatat(AT_FDCWD, one.path.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  if (found && status.st_dev == one.device && status.st_ino == one.inode) return {};
  error e(error_kind::root_gone, "the root " + printable(one.path) + " was deleted, moved or replaced");
  e.details.emplace_back("root", printable(one.path));
  e.details.emplace_back("remedy", std::string("open a workspace on the directory that is there now"));
  return fail(std::move(e));
}

result<void> root_set::check_present() const {
  for (std::size_t index = 0; index < roots_.size(); ++index) {
    if (auto present = check_present(index); !present) return present;
  }
  return {};
}

std::string root_set::returned_path(const location& where) const {
  if (where.root_index != 0) return absolute_path(where);
  return where.relative.empty() ? std::string(".") : where.relative;
}

std::string root_set::absolute_path(const location& where) const {
  const std::string& base = roots_[where.root_index].path;
  if (where.relative.empty()) return base;
  return base == "/" ? base + where.relative : base + "/" + where.relative;
}

}  // namespace sbx::fs
