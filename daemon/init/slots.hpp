// What init remembers of each anchor, in memory that both share: so init can tell a leader's real end when its anchor was
// killed before it could.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "daemon/sys/init_wire.hpp"

namespace sbx::init {

namespace wire = sys::init_wire;

struct slot {
  // Init's own.
  pid_t anchor;        // 0: free
  int leash;           // init's duplicate of the anchor's end
  std::uint32_t serial;
  std::int64_t ended_at_ms;  // when the leash was seen at end-of-file, 0 before
  bool orphaned;       // the anchor is gone, its leader or tree is not yet told of

  // Written by the anchor, in this order: taken, leader, end, end_known, end_told.
  volatile bool taken;  // a spawn was read from the leash: it can't be given to another anchor any more
  volatile pid_t leader;
  wire::exited end;
  volatile bool end_known;
  volatile bool end_told;
  volatile bool closed_told;
};

constexpr std::size_t slots_max = 4096;

// Zeroed memory that stays shared across fork. Null when there is none.
slot* make_slots();

}  // namespace sbx::init
