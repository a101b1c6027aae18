#include "daemon/fs/resolve.hpp"

#include <fcntl.h>
#include <limits.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "daemon/fs/errors.hpp"
#include "daemon/fs/walk_path.hpp"
#include "daemon/sys/beneath.hpp"

namespace sbx::fs {
namespace {

constexpr std::size_t path_bytes_max = 1 << 20;

// A path without "..", as names joined by single slashes. None when it has "..".
struct plain_path {
  std::string text;
  bool slash = false;
};

std::optional<plain_path> make_plain(const std::string& rest) {
  plain_path plain;
  std::size_t begin = 0;
  while (begin < rest.size()) {
    const std::size_t slash = std::min(rest.find('/', begin), rest.size());
    const std::string_view part(rest.data() + begin, slash - begin);
    if (part == "..") return std::nullopt;
    plain.slash = slash < rest.size() || part == ".";
    if (!part.empty() && part != ".") plain.text = joined(plain.text, part);
    begin = slash + 1;
  }
  return plain;
}

void set_where(place& found, std::size_t root_index, const plain_path& plain) {
  found.where = location(root_index, plain.text);
  found.name = plain.text.substr(plain.text.rfind('/') + 1);
  found.slash = plain.slash;
}

// 0, or a negated errno: then the walk decides.
int open_directory_of(const root& base, const plain_path& plain, place& found, bool same_mount) {
  const std::size_t slash = plain.text.rfind('/');
  int fd = -1;
  if (slash == std::string::npos) {
    fd = ::fcntl(base.fd->get(), F_DUPFD_CLOEXEC, 3);
    if (fd < 0) fd = -errno;
  } else {
    const std::string parents = plain.text.substr(0, slash);
    fd = sys::open_beneath(*base.fd, parents.c_str(), O_PATH | O_DIRECTORY, same_mount);
  }
  if (fd < 0) return fd;
  found.directory.reset(fd);
  return 0;
}

// Links nowhere, everything there: one or two calls. Negated errno otherwise.
int open_at_once(const root& base, const plain_path& plain, place& found, const resolve_options& options,
                 bool same_mount) {
  if (plain.text.size() >= PATH_MAX) return -ENAMETOOLONG;
  sys::fd_ref from = *base.fd;
  std::string path = plain.text.empty() ? std::string(".") : plain.text;
  if (options.wanted != wants::object_alone && !plain.text.empty()) {
    if (const int opened = open_directory_of(base, plain, found, same_mount); opened < 0) return opened;
    from = found.directory;
    path = found.name;
  }
  const int fd = sys::open_beneath(from, path.c_str(), O_PATH | O_NOFOLLOW, same_mount);
  if (fd == -ENOENT && options.wanted != wants::object_alone && options.wanted != wants::object) return 0;
  if (fd < 0) return fd;
  found.object.reset(fd);
  if (::fstat(fd, &found.status) != 0) return -errno;
  if (S_ISLNK(found.status.st_mode) && (options.last == last_link::follow || plain.slash)) return -ELOOP;
  if (plain.slash && !S_ISDIR(found.status.st_mode)) return -ENOTDIR;
  return 0;
}

result<void> check_rules(const root_set& roots, const place& found, intent purpose) {
  const policy& rules = roots.rules();
  if (rules.empty() || found.is_root()) return {};
  const bool forbidden =
      purpose == intent::look ? rules.denies(found.where.relative) : rules.forbids_change(found.where.relative);
  if (forbidden) return denied_by_rule();
  return {};
}

result<place> resolve_below(const root_set& roots, const root_match& start, place found, const resolve_options& options,
                            const call& how) {
  const root& base = roots.at(start.index);
  const std::optional<plain_path> plain = make_plain(start.rest);
  if (how.on_reactor && (!plain || !base.local)) return needs_pool();
  if (auto present = roots.check_present(start.index); !present) return fail(std::move(present.error()));
  if (plain && sys::have_openat2()) {
    place fast;
    fast.path = found.path;
    set_where(fast, start.index, *plain);
    if (open_at_once(base, *plain, fast, options, how.on_reactor) == 0) return fast;
  }
  // Not there, a link, no openat2: the walk says exactly which, with the rules held at every step.
  if (how.on_reactor) return needs_pool();
  return walk_path(roots, start.index, start.rest, std::move(found), options, how);
}

}  // namespace

std::string joined(std::string_view directory, std::string_view name) {
  std::string whole(directory);
  if (!whole.empty() && !name.empty()) whole.push_back('/');
  whole.append(name);
  return whole;
}

result<place> resolve(const root_set& roots, const std::string& path, const resolve_options& options, const call& how) {
  if (path.find('\0') != std::string::npos) return invalid(options.pointer, "the path contains NUL");
  if (path.empty() && !options.empty_is_root) return invalid(options.pointer, "the path is empty");
  if (path.size() > path_bytes_max) return invalid(options.pointer, "the path is too long");
  root_match start;
  start.rest = path;
  if (!path.empty() && path.front() == '/' && !match_root(roots, path, start)) return denied_outside();
  place blank;
  blank.path = path;
  auto found = resolve_below(roots, start, std::move(blank), options, how);
  if (!found) return found;
  if (auto allowed = check_rules(roots, *found, options.purpose); !allowed) return fail(std::move(allowed.error()));
  return found;
}

int make_new_step(sys::fd_ref directory, const char* name, const call& how) {
  if (::mkdirat(directory.get(), name, 0777 & ~how.umask) != 0) return -errno;
  sys::unique_fd fd(::openat(directory.get(), name, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return errno == ELOOP ? -ENOTDIR : -errno;
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return -errno;
  // The daemon's own umask took bits away. Set-group-ID comes from the directory above and stays.
  const mode_t wanted = (status.st_mode & S_ISGID) | (0777 & ~how.umask);
  if ((status.st_mode & 07777) != wanted) ::chmod(sys::descriptor_path(fd).c_str(), wanted);
  return fd.release();
}

int make_step(sys::fd_ref directory, const char* name, const call& how) {
  const int made = make_new_step(directory, name, how);
  if (made != -EEXIST) return made;
  const int fd = ::openat(directory.get(), name, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) return fd;
  return errno == ELOOP ? -ENOTDIR : -errno;
}

result<sys::unique_fd> reopen_file(const place& found, int flags, const call& how) {
  if (!S_ISREG(found.status.st_mode)) return not_a_file(type_of(found.status), found.path);
  // O_NONBLOCK: a lease that somebody holds on the file is not waited for on the reactor.
  const int fd = sys::reopen(found.object, flags | (how.on_reactor ? O_NONBLOCK : 0));
  if (fd == -EWOULDBLOCK && how.on_reactor) return needs_pool();
  if (fd < 0) return fail_at(-fd, "opening", found.path);
  return sys::unique_fd(fd);
}

}  // namespace sbx::fs
