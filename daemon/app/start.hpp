// What the daemon makes of its own process before anything else.
#pragma once

#include "daemon/sandbox/factory.hpp"
#include "daemon/sys/error.hpp"

namespace sbx::app {

// Descriptors 0 to 2 are open; SIGPIPE is ignored, no signal blocked; not dumpable; working directory /;
// umask 077; the soft limit of descriptors raised to the hard one. Answers the umask and limits from before, which
// every command starts with.
result<sandbox::process_defaults> prepare_process();

}  // namespace sbx::app
