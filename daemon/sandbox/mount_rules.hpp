// What may be mounted where, the same for all backends with walls. Pure.
#pragma once

#include "daemon/sandbox/spec.hpp"
#include "daemon/sys/error.hpp"

namespace sbx::sandbox {

// invalid_params when a mount's target is not a plain absolute path, lies in /proc, /sys or /dev, is "/", overlaps a
// root, is the target of another mount, or when a writable mount has a sha256.
result<void> check_mounts(const spec& wanted);

// The inside path of a mount.
const std::string& target_of(const mount_spec& mount);

}  // namespace sbx::sandbox
