// Terminal pairs in a sandbox's own devpts.
#pragma once

#include <sys/types.h>

#include <optional>

#include "daemon/sandbox/sandbox.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::sandbox {

// `devpts` is a directory of type devpts (O_PATH), or none for the host's. The slave belongs to `owner` where that is
// not the daemon itself; where its owner may not be changed, anybody inside may open it (0666).
result<sandbox::terminal_pair> open_terminal_in(sys::fd_ref devpts, std::optional<uid_t> owner);

}  // namespace sbx::sandbox
