// The process between init and one command: its tree's subreaper, its leash's inner end.
#pragma once

#include "daemon/init/slots.hpp"

namespace sbx::init {

// Runs in a process of its own, forked by init with all signals blocked; ends it. `leash` is the inner end.
[[noreturn]] void run_anchor(int leash, slot& mine, const wire::setup& defaults);

}  // namespace sbx::init
