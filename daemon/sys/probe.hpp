// What this kernel and machine can do, probed once and never guessed from a version. For system.info and system.doctor.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sbx::sys {

struct feature {
  feature() = default;
  feature(std::string name_, bool available_, std::string reason_)
      : name(std::move(name_)), available(available_), reason(std::move(reason_)) {}
  std::string name;
  bool available = false;
  std::string reason;  // why not; empty when available
};

// True when SBX_FEATURES_OFF (comma separated) names it: the fallback is used as if the kernel had none.
bool switched_off(std::string_view feature_name);

// Probes everything (some milliseconds: forks once for user namespaces); call it once, from app, and keep the answer.
// Names: openat2 close_range pidfd memfd userns overlay seccomp cgroup_v2 landlock idmapped_mounts inotify
std::vector<feature> probe_features();

}  // namespace sbx::sys
