// The first process of a sandbox: takes orders from the daemon over the control socket, keeps the anchors, and ends and
// reaps whatever is not theirs.
#pragma once

#include <sys/resource.h>

#include "daemon/init/slots.hpp"

namespace sbx::init {

struct options {
  int control = -1;              // the control socket, inherited
  bool whole_namespace = false;  // pid 1 of a pid namespace: everything in it is ours
  rlimit descriptors = {};       // RLIMIT_NOFILE as it was found
};

// Serves until the control socket ends, then ends everything beneath. Never returns.
[[noreturn]] void run_init(const options& wanted);

}  // namespace sbx::init
