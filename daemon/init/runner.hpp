// The process that becomes the command: forked ahead, it waits for the spawn message, so that little is left to do then.
#pragma once

#include "daemon/init/slots.hpp"

namespace sbx::init {

// Descriptors of an anchor and its runner.
constexpr int leash_number = 3;
constexpr int report_number = 32;  // of the runner alone; closed by exec

// Runs in a process of its own, forked by the anchor with all signals blocked, and ends it: by exec, or after it has
// written into the slot why not.
[[noreturn]] void run_runner(slot& mine, const wire::setup& defaults);

}  // namespace sbx::init
