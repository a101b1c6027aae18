// The processes beneath one of ours, read from /proc, and ending them.
#pragma once

#include <sys/types.h>

#include <cstddef>
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

inline bool is_alive(const process_entry& entry) {
  return entry.state != 'Z' && entry.state != 'X';
}

// The command line of a process, its strings each ended by NUL; how many bytes there are (0 when it is gone).
std::size_t read_arguments(pid_t pid, char* into, std::size_t room);

// All processes that /proc shows now. The array belongs to the caller's process and is reused by the next call.
struct snapshot {
  const process_entry* entries;
  std::size_t count;
};
snapshot read_processes();

// The one with this pid, or null.
const process_entry* find_process(const snapshot& in, pid_t pid);

// Those beneath `root` (root itself excluded), compacted to the front of the snapshot.
snapshot read_descendants(pid_t root);

// Sends `number` to every living descendant of this process, each by a pidfd that is checked again after opening.
void signal_descendants(int number);

// Kills the children of this process, which must have one thread: unreaped, so that their numbers are their own. Those
// for which `spare` answers true are left alone (null: nobody). Answers how many were not spared, ended ones included.
std::size_t kill_children(bool (*spare)(void* context, pid_t pid), void* context);

}  // namespace sbx::init
