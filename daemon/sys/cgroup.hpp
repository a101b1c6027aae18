// Control groups as far as they are read: which group a process is in, and what the kernel counted there. Versions 1
// and 2.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/sys/fd.hpp"

namespace sbx::sys {

// Where a process's groups are, out of /proc/PID/cgroup and /proc/self/mountinfo. Pure.
struct cgroup_paths {
  cgroup_paths() = default;
  std::string memory, freezer;  // directories; empty where there is none
  bool memory_unified = false, freezer_unified = false;
};
cgroup_paths find_cgroups(std::string_view process_cgroup, std::string_view mountinfo);

// The groups of a process, held open: what is read is that group's even when its name is used again.
class cgroup {
 public:
  cgroup() = default;  // knows nothing

  // Reads /proc of `pid`; nothing is known of what can't be read.
  static cgroup of(pid_t pid);

  // Processes killed for want of memory in this group so far; nothing where the kernel does not say.
  std::optional<std::int64_t> oom_kills() const;

  // Frozen (a paused container).
  bool frozen() const;

 private:
  unique_fd oom_file_, freeze_file_;
};

}  // namespace sbx::sys
