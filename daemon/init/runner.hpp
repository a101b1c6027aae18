// The process that becomes the command: forked ahead, it waits for the spawn message, so that little is left to do
// then.
#pragma once

#include "daemon/init/slots.hpp"

namespace sbx::init {

// Descriptors of an anchor and its runner.
constexpr int leash_number = 3;
constexpr int report_number = 32;  // of the runner alone; closed by exec
constexpr int alarm_number = 33;   // likewise: a timer whose other holder is the anchor

// Most commands are short: a start is told so much later, together with the end if that comes first. It saves waking
// the anchor and the daemon in the midst of the command's run.
constexpr long told_after_ns = 500'000;

// Runs in a process of its own, forked by the anchor with all signals blocked, and ends it: by exec, or after it has
// written into the slot why not.
[[noreturn]] void run_runner(slot& mine, const wire::setup& defaults);

}  // namespace sbx::init
