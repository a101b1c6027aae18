#include "daemon/fs/copy_tree.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "daemon/fs/copy_run.hpp"
#include "daemon/fs/directory.hpp"
#include "daemon/fs/errors.hpp"
#include "daemon/fs/file_io.hpp"
#include "daemon/fs/resolve.hpp"
#include "daemon/sys/beneath.hpp"

namespace sbx::fs {
namespace {

constexpr std::size_t hard_links_max = 1'000'000;

struct frame {
  std::vector<directory_entry> entries;
  struct stat status {};  // of the source
};

class tree_copy {
 public:
  tree_copy(sys::unique_fd source, sys::unique_fd target, const copy_choices& choices, const call& how)
      : choices_(choices), how_(how), sources_(std::move(source)), targets_(std::move(target)) {
    target_top_.reset(::fcntl(targets_.current().get(), F_DUPFD_CLOEXEC, 3));
  }

  const copy_report& report() const { return report_; }
  file_type refused() const { return refused_; }

  int run() {
    int failed = note_target();
    if (failed == 0) failed = begin_directory();
    while (failed == 0 && !frames_.empty()) {
      if (how_.stop.stopped()) return ECANCELED;
      if (frames_.back().entries.empty()) {
        failed = end_directory();
      } else {
        const directory_entry entry = std::move(frames_.back().entries.back());
        frames_.back().entries.pop_back();
        failed = copy_entry(entry.name);
      }
    }
    return failed;
  }

 private:
  // The copy may lie within what is copied: it is not copied into itself.
  int note_target() { return ::fstat(target_top_.get(), &target_status_) == 0 ? 0 : errno; }

  int begin_directory() {
    frame next;
    if (::fstat(sources_.current().get(), &next.status) != 0) return errno;
    frames_.push_back(std::move(next));
    return read_entries(sources_.current(), how_, frames_.back().entries);
  }

  int end_directory() {
    const frame done = std::move(frames_.back());
    frames_.pop_back();
    if (const int failed = finish_directory(done.status); failed != 0) return failed;
    if (frames_.empty()) return 0;
    path_.resize(path_.rfind('/') == std::string::npos ? 0 : path_.rfind('/'));
    if (const int failed = sources_.leave(); failed != 0) return failed;
    return targets_.leave();
  }

  // Last: entries could not be made in a directory that is read-only, and would change its time.
  int finish_directory(const struct stat& status) {
    const int target = targets_.current().get();
    if (choices_.owners == keep::yes && ::fchown(target, status.st_uid, status.st_gid) != 0 && errno != EPERM) {
      return errno;
    }
    if (::fchmod(target, mode_for_copy(targets_.current(), status)) != 0) return errno;
    if (choices_.times == keep::yes) ::futimens(target, times_of(status).data());
    return 0;
  }

  static std::array<timespec, 2> times_of(const struct stat& status) { return {status.st_atim, status.st_mtim}; }

  int copy_entry(const std::string& name) {
    const sys::unique_fd object(sys::open_step(sources_.current(), name.c_str()));
    struct stat status {};
    if (!object) return errno == ENOENT ? 0 : errno;
    if (::fstat(object.get(), &status) != 0) return errno;
    switch (type_of(status)) {
      case file_type::directory:
        return copy_directory(name, status);
      case file_type::symlink:
        return copy_link(object, name, status);
      case file_type::file:
        return copy_regular(object, name, status);
      default:
        return special(type_of(status));
    }
  }

  int special(file_type type) {
    ++report_.skipped_special;
    refused_ = type;
    return choices_.special == special_files::skip ? 0 : ENOTSUP;
  }

  int copy_directory(const std::string& name, const struct stat& status) {
    if (status.st_dev == target_status_.st_dev && status.st_ino == target_status_.st_ino) return 0;
    if (::mkdirat(targets_.current().get(), name.c_str(), 0700) != 0) return errno;
    if (const int failed = sources_.enter(name.c_str()); failed != 0) return failed;
    if (const int failed = targets_.enter(name.c_str()); failed != 0) return failed;
    path_ = joined(path_, name);
    ++report_.directories;
    return begin_directory();
  }

  int copy_link(sys::fd_ref link, const std::string& name, const struct stat& status) {
    auto text = sys::read_link(link);
    if (!text) return text.error().number;
    const int target = targets_.current().get();
    if (::symlinkat(text->c_str(), target, name.c_str()) != 0) return errno;
    if (choices_.owners == keep::yes) {
      if (::fchownat(target, name.c_str(), status.st_uid, status.st_gid, AT_SYMLINK_NOFOLLOW) != 0 && errno != EPERM) {
        return errno;
      }
    }
    if (choices_.times == keep::yes) {
      ::utimensat(target, name.c_str(), times_of(status).data(), AT_SYMLINK_NOFOLLOW);
    }
    ++report_.links;
    return 0;
  }

  // Another name of a file that is copied already: 0 when it was linked, -1 when it has to be copied.
  int link_to_copy(const std::string& name, const struct stat& status) {
    if (status.st_nlink < 2) return -1;
    const auto known = copies_.find({status.st_dev, status.st_ino});
    if (known == copies_.end()) return -1;
    const sys::unique_fd copy(sys::open_plain(target_top_, known->second.first));
    struct stat copied {};
    if (!copy || ::fstat(copy.get(), &copied) != 0 || copied.st_ino != known->second.second) return -1;
    const std::string path = sys::descriptor_path(copy);
    return ::linkat(AT_FDCWD, path.c_str(), targets_.current().get(), name.c_str(), AT_SYMLINK_FOLLOW) == 0 ? 0 : -1;
  }

  int copy_regular(sys::fd_ref object, const std::string& name, const struct stat& status) {
    ++report_.files;
    if (link_to_copy(name, status) == 0) return 0;
    const sys::unique_fd from(sys::reopen(object, O_RDONLY));
    if (!from) return errno;
    const int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    const sys::unique_fd to(::openat(targets_.current().get(), name.c_str(), flags, 0600));
    if (!to) return errno;
    std::int64_t bytes = 0;
    call inner = how_;
    const std::int64_t before = report_.bytes;
    if (how_.progress) inner.progress = [&](std::int64_t done, std::int64_t) { how_.progress(before + done, 0); };
    if (const int failed = copy_content(from, to, inner, bytes); failed != 0) return failed;
    report_.bytes += bytes;
    if (const int failed = dress(to, status); failed != 0) return failed;
    return remember(to, name, status);
  }

  int dress(sys::fd_ref to, const struct stat& status) {
    if (choices_.owners == keep::yes && ::fchown(to.get(), status.st_uid, status.st_gid) != 0 && errno != EPERM) {
      return errno;
    }
    if (::fchmod(to.get(), mode_for_copy(to, status)) != 0) return errno;
    if (choices_.times == keep::yes) ::futimens(to.get(), times_of(status).data());
    return 0;
  }

  int remember(sys::fd_ref to, const std::string& name, const struct stat& status) {
    if (status.st_nlink < 2 || copies_.size() >= hard_links_max) return 0;
    struct stat copied {};
    if (::fstat(to.get(), &copied) != 0) return errno;
    copies_[{status.st_dev, status.st_ino}] = {joined(path_, name), copied.st_ino};
    return 0;
  }

  const copy_choices choices_;
  const call& how_;
  directory_stack sources_, targets_;
  sys::unique_fd target_top_;
  struct stat target_status_ {};
  std::vector<frame> frames_;
  std::string path_;                                                         // of the current directory, below the top
  std::map<std::pair<dev_t, ino_t>, std::pair<std::string, ino_t>> copies_;  // files with several names
  copy_report report_;
  file_type refused_ = file_type::device;
};

}  // namespace

mode_t mode_for_copy(sys::fd_ref copy, const struct stat& original) {
  struct stat status {};
  const bool same =
      ::fstat(copy.get(), &status) == 0 && status.st_uid == original.st_uid && status.st_gid == original.st_gid;
  return original.st_mode & (same ? 07777 : 01777);
}

int copy_below(sys::unique_fd source, sys::unique_fd target, const copy_choices& choices, const call& how,
               copy_report& report, file_type& refused) {
  tree_copy copy(std::move(source), std::move(target), choices, how);
  const int failed = copy.run();
  report = copy.report();
  refused = copy.refused();
  return failed;
}

result<copy_report> copy_tree(sys::fd_ref source, sys::fd_ref target, const call& how) {
  sys::unique_fd from(sys::reopen(source, O_RDONLY | O_DIRECTORY));
  sys::unique_fd to(sys::reopen(target, O_RDONLY | O_DIRECTORY));
  if (!from || !to) return fail_system(errno, "opening the directories of a copy");
  copy_choices choices;
  choices.times = choices.owners = keep::yes;
  choices.special = special_files::skip;
  copy_report report;
  file_type refused = file_type::device;
  const int failed = copy_below(std::move(from), std::move(to), choices, how, report, refused);
  if (failed == ECANCELED) return cancelled();
  if (failed != 0) return fail_system(failed, "copying a directory");
  return report;
}

}  // namespace sbx::fs
