// The processes beneath one of ours, read from /proc, and ending them.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "daemon/sys/init_wire.hpp"

namespace sbx::init {

struct process_entry {
  pid_t pid, ppid;
  std::uint64_t start_time;  // with the pid it names one process for ever
  std::int64_t cpu_ticks, rss_pages;
  char state;
  bool beneath;  // scratch
};

// All processes that /proc shows now. The array belongs to the caller's process and is reused by the next call.
struct snapshot {
  const process_entry* entries;
  std::size_t count;
};
snapshot read_processes();

// Those beneath `root` (root itself excluded), compacted to the front of the snapshot.
snapshot read_descendants(pid_t root);

// Sends `number` to every living descendant of this process, each by a pidfd that is checked again after opening.
// Returns how many were met. `except` is spared (0: nobody).
std::size_t signal_descendants(int number, pid_t except = 0);

}  // namespace sbx::init
