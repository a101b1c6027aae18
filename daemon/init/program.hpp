// Becoming the command's program.
#pragma once

#include "daemon/sys/init_wire.hpp"

namespace sbx::init {

namespace wire = sys::init_wire;

// execve; argv[0] without '/' is looked up in `search_path` (empty: the
// environment's own PATH) as execvp(3) does, but never given to a shell.
// Returns only when it failed.
wire::spawn_failed execute(char** argv, char** environment, const char* search_path);

}  // namespace sbx::init
