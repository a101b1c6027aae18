// What is remembered of each anchor, in memory that init, the anchor and its runner share: so init can tell a leader's
// real end when the anchor was killed before it could.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "daemon/sys/init_wire.hpp"

namespace sbx::init {

namespace wire = sys::init_wire;

struct slot {
  // Init's own.
  pid_t anchor = 0;              // 0: free
  int leash = -1;                // init's duplicate of the anchor's end
  std::int64_t ended_at_ms = 0;  // when the leash was seen at end-of-file, 0 before
  bool orphaned = false;         // the anchor is gone, its leader or tree is not yet told of

  // Written by the runner.
  std::atomic<bool> taken{false};    // a message is being read from the leash: no other runner can be given it any more
  std::atomic<bool> saw_end{false};  // end-of-file came instead
  std::atomic<bool> bad_order{false};  // something came that is no spawn
  std::atomic<bool> failure_known{false};
  wire::spawn_failed failure{};

  // Written by the anchor.
  std::atomic<pid_t> runner{0};       // forked ahead, not a command yet; 0 for none
  std::atomic<pid_t> leader{0};       // the command runs, or ran
  std::atomic<bool> answered{false};  // started or spawn_failed was said
  wire::exited end{};
  std::atomic<bool> end_known{false};  // set before the leader is reaped
  std::atomic<bool> end_told{false}, closed_told{false};
};

constexpr std::size_t slots_max = 4096;

// Zeroed memory that stays shared across fork. Null when there is none.
slot* make_slots();

}  // namespace sbx::init
