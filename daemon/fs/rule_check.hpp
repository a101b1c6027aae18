// Whether the rules of the profile allow to move, copy or remove a whole tree. Internal to daemon/fs.
#pragma once

#include <optional>

#include "daemon/fs/resolve.hpp"

namespace sbx::fs {

// Nothing below the object may be forbidden: at its old place for `purpose`, at its new one (if any) for a change.
// denied, cancelled, io. Costs a walk only when there are rules and the object is a directory.
result<void> check_tree_rules(const root_set& roots, const place& object, intent purpose,
                              const std::optional<location>& new_place, const call& how);

}  // namespace sbx::fs
