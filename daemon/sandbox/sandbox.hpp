// A running sandbox, whatever its backend: something that hands out leashes until it ends.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/async/task.hpp"
#include "daemon/sandbox/leash.hpp"
#include "daemon/sandbox/spec.hpp"

namespace sbx::sandbox {

// One process as seen from inside.
struct process_info {
  process_info() = default;
  pid_t pid = 0, ppid = 0;
  char state = '?';  // as in /proc/PID/stat
  std::int64_t rss_bytes = 0, cpu_ms = 0;
  std::vector<std::string> argv;  // as its /proc/PID/cmdline said, cut at 4 KiB
  pid_t leader = 0;               // the leader of the command it descends from, 0 for none
};

class sandbox {
 public:
  virtual ~sandbox() = default;  // ends it, as end() does, without waiting

  // A new command's leash, on `strand`. Cheap: a spare anchor waits inside. sandbox_lost when the sandbox is dying.
  virtual async::task<result<std::unique_ptr<leash>>> open_leash(async::strand strand) = 0;

  virtual bool alive() const = 0;
  // Resolves when nothing of the sandbox is left (init reaped or container gone). Any number of waiters.
  virtual async::task<void> wait_ended() = 0;
  virtual std::string ended_because() const = 0;  // for a lost sandbox: one clause, e.g. "init stalled"

  // Orders the end: every process inside is killed. Then await wait_ended().
  virtual void end() = 0;

  virtual async::task<result<std::vector<process_info>>> processes() = 0;
  // A new terminal pair in the sandbox's own devpts: master and slave, both CLOEXEC.
  struct terminal_pair {
    terminal_pair() = default;
    sys::unique_fd master, slave;
  };
  virtual result<terminal_pair> open_terminal() = 0;

  // True when its group counted an out-of-memory kill since the last call (cgroup memory.events); false where unknown.
  virtual bool took_oom_kill() = 0;

  virtual const std::vector<std::string>& base_env() const = 0;  // "NAME=VALUE": an image's own, else empty
  virtual std::string home() const = 0;                          // the inside home directory
  virtual std::string user_name() const = 0;                     // USER inside
  virtual std::optional<pid_t> host_pid() const = 0;             // of init, where the daemon started it
  virtual std::optional<std::string> container() const = 0;
};

}  // namespace sbx::sandbox
