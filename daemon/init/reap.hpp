// Looking at a child's end before it is reaped.
#pragma once

#include <sys/types.h>
#include <sys/wait.h>

#include "daemon/sys/init_wire.hpp"

namespace sbx::init {

namespace wire = sys::init_wire;

struct ended_child {
  pid_t pid;            // 0: none has ended; -1: there is no child
  int status;           // as of waitpid(2)
  wire::exited report;  // the same with what it used, its own waited-for children included; closed is 0
};

// The child stays unreaped. Which: P_ALL, or P_PID with its number.
ended_child look_at_end(idtype_t which, pid_t pid);

}  // namespace sbx::init
