#include "daemon/fs/transfer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "daemon/fs/copy_run.hpp"
#include "daemon/fs/errors.hpp"
#include "daemon/fs/file_io.hpp"
#include "daemon/fs/remove_tree.hpp"
#include "daemon/fs/replace.hpp"
#include "daemon/sys/beneath.hpp"

namespace sbx::fs {
namespace {

tl::unexpected<error> failed_copy(int number, const place& target) {
  if (number == ECANCELED) return cancelled();
  if (number == EEXIST) return fail(error_kind::conflict, printable(target.path) + " exists already");
  return fail_at(number, "copying to", target.path);
}

copy_choices choices_of(after_copy then) {
  copy_choices choices;
  if (then == after_copy::remove_source) choices.times = choices.owners = keep::yes;
  return choices;
}

// 0 or an errno.
int dress_copy(sys::fd_ref copy, const struct stat& original, after_copy then) {
  if (then == after_copy::remove_source) {
    if (::fchown(copy.get(), original.st_uid, original.st_gid) != 0 && errno != EPERM) return errno;
  }
  if (::fchmod(copy.get(), mode_for_copy(copy, original)) != 0) return errno;
  if (then == after_copy::remove_source) {
    const timespec times[2] = {original.st_atim, original.st_mtim};
    ::futimens(copy.get(), times);
  }
  return 0;
}

int copy_file(const place& source, const place& target, bool overwrite, after_copy then, const call& how) {
  const sys::unique_fd from(sys::reopen(source.object, O_RDONLY));
  if (!from) return errno;
  int failed = 0;
  temp_file temp = temp_file::create(target.directory, failed);
  if (failed != 0) return -failed;
  std::int64_t bytes = 0;
  if (failed = copy_content(from, temp.fd(), how, bytes); failed != 0) return failed;
  if (failed = dress_copy(temp.fd(), source.status, then); failed != 0) return failed;
  const char* name = target.name.c_str();
  return overwrite && target.exists() ? -temp.publish_over(name) : -temp.publish_new(name);
}

int copy_link(const place& source, const place& target, bool overwrite) {
  auto text = sys::read_link(source.object);
  if (!text) return text.error().number;
  const std::string hidden = new_hidden_temp_name();
  if (::symlinkat(text->c_str(), target.directory.get(), hidden.c_str()) != 0) return errno;
  const int failed = rename_to(target.directory, hidden.c_str(), target, overwrite);
  if (failed != 0) ::unlinkat(target.directory.get(), hidden.c_str(), 0);
  return failed;
}

int copy_directory(const place& source, const place& target, bool overwrite, after_copy then, const call& how,
                   file_type& refused) {
  sys::unique_fd from(sys::reopen(source.object, O_RDONLY | O_DIRECTORY));
  if (!from) return errno;
  const std::string hidden = new_hidden_temp_name();
  if (::mkdirat(target.directory.get(), hidden.c_str(), 0700) != 0) return errno;
  sys::unique_fd to(::openat(target.directory.get(), hidden.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  int failed = to ? 0 : errno;
  copy_report report;
  if (failed == 0) failed = copy_below(std::move(from), std::move(to), choices_of(then), how, report, refused);
  if (failed == 0) failed = rename_to(target.directory, hidden.c_str(), target, overwrite);
  if (failed != 0) remove_name(target.directory, hidden.c_str(), locked_directories::unlock, call());
  return failed;
}

}  // namespace

bool lies_within(const location& inner, const location& outer) {
  if (inner.root_index != outer.root_index) return false;
  const std::string &a = inner.relative, &b = outer.relative;
  if (b.empty()) return true;
  return a.compare(0, b.size(), b) == 0 && (a.size() == b.size() || a[b.size()] == '/');
}

int rename_to(sys::fd_ref from, const char* from_name, const place& target, bool overwrite) {
  const int to = target.directory.get();
  const char* name = target.name.c_str();
  if (overwrite) return ::renameat(from.get(), from_name, to, name) == 0 ? 0 : errno;
  if (::renameat2(from.get(), from_name, to, name, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  // EINVAL is also a directory moved into itself; else a file system without the flag: looked at first then.
  struct stat status {};
  if (::fstatat(to, name, &status, AT_SYMLINK_NOFOLLOW) == 0) return EEXIST;
  return ::renameat(from.get(), from_name, to, name) == 0 ? 0 : errno;
}

result<void> copy_object(const place& source, const place& target, bool overwrite, after_copy then, const call& how) {
  const file_type type = type_of(source.status);
  file_type refused = type;
  int failed = ENOTSUP;
  if (type == file_type::file) failed = copy_file(source, target, overwrite, then, how);
  if (type == file_type::symlink) failed = copy_link(source, target, overwrite);
  if (type == file_type::directory) failed = copy_directory(source, target, overwrite, then, how, refused);
  if (failed == ENOTSUP) return not_a_file(refused, source.path);
  if (failed != 0) return failed_copy(failed, target);
  return {};
}

}  // namespace sbx::fs
