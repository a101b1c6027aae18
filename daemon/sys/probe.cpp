#include "daemon/sys/probe.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/landlock.h>
#include <linux/mount.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "daemon/sys/beneath.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::sys {
namespace {

feature answer(std::string name, bool available, std::string reason) {
  if (switched_off(name)) return {std::move(name), false, "switched off by SBX_FEATURES_OFF"};
  return {std::move(name), available, available ? std::string() : std::move(reason)};
}

feature by_errno(std::string name, long outcome, int number) {
  return answer(std::move(name), outcome >= 0, outcome >= 0 ? "" : ::strerrordesc_np(number));
}

feature probe_close_range() {
  // The highest numbers: nothing is open there.
  const long outcome = ::syscall(SYS_close_range, ~0U - 1, ~0U, 0);
  return by_errno("close_range", outcome, errno);
}

feature probe_pidfd() {
  unique_fd fd(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  return by_errno("pidfd", fd.get(), errno);
}

feature probe_memfd() {
  unique_fd fd(static_cast<int>(::syscall(SYS_memfd_create, "sbx-probe", MFD_CLOEXEC)));
  return by_errno("memfd", fd.get(), errno);
}

feature probe_inotify() {
  unique_fd fd(::inotify_init1(IN_CLOEXEC));
  return by_errno("inotify", fd.get(), errno);
}

// A child of its own, by vfork-free fork: unshare(2) in the daemon itself would change the daemon.
feature probe_userns() {
  const pid_t child = ::fork();
  if (child < 0) return by_errno("userns", -1, errno);
  if (child == 0) ::_exit(::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 ? 0 : errno & 0x7f);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  const int number = WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
  return answer("userns", number == 0, std::string("unshare: ") + ::strerrordesc_np(number));
}

feature probe_overlay() {
  std::ifstream list("/proc/filesystems");
  for (std::string line; std::getline(list, line);) {
    if (line.size() >= 7 && line.compare(line.size() - 7, 7, "overlay") == 0) return answer("overlay", true, "");
  }
  return answer("overlay", false, "not in /proc/filesystems (modprobe overlay)");
}

feature probe_seccomp() {
  const std::uint32_t action = SECCOMP_RET_ERRNO;
  const long outcome = ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action);
  return by_errno("seccomp", outcome, errno);
}

feature probe_cgroup() {
  struct stat status {};
  const bool unified = ::stat("/sys/fs/cgroup/cgroup.controllers", &status) == 0;
  return answer("cgroup_v2", unified, "/sys/fs/cgroup is not a cgroup v2 tree");
}

feature probe_landlock() {
  const long outcome = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return by_errno("landlock", outcome, errno);
}

feature probe_idmapped_mounts() {
  // With an attribute but without a descriptor: a kernel that knows the call and the flag says EBADF or EINVAL.
  mount_attr wanted{};
  wanted.attr_set = MOUNT_ATTR_IDMAP;
  wanted.userns_fd = ~0ULL >> 33;
  ::syscall(SYS_mount_setattr, -1, "", AT_EMPTY_PATH, &wanted, sizeof wanted);
  const bool known = errno != ENOSYS;
  return answer("idmapped_mounts", known, "no mount_setattr(2)");
}

}  // namespace

bool switched_off(std::string_view feature_name) {
  const char* list = std::getenv("SBX_FEATURES_OFF");
  if (!list) return false;
  std::string_view rest(list);
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    if (rest.substr(0, comma) == feature_name) return true;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return false;
}

std::vector<feature> probe_features() {
  std::vector<feature> all;
  all.push_back(answer("openat2", have_openat2(), "openat2(2) is missing or filtered: paths are walked part by part"));
  all.push_back(probe_close_range());
  all.push_back(probe_pidfd());
  all.push_back(probe_memfd());
  all.push_back(probe_userns());
  all.push_back(probe_overlay());
  all.push_back(probe_seccomp());
  all.push_back(probe_cgroup());
  all.push_back(probe_landlock());
  all.push_back(probe_idmapped_mounts());
  all.push_back(probe_inotify());
  return all;
}

}  // namespace sbx::sys
