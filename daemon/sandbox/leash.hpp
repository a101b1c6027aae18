// The daemon's end of one command: the socket to its anchor inside the sandbox (see docs/architecture.md).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/async/task.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::sandbox {

// What to start. All strings are bytes without NUL. Nothing here is looked at by a shell.
struct spawn_request {
  spawn_request() = default;
  std::vector<std::string> argv;       // argv[0] without '/' is looked up in env's PATH, inside
  std::vector<std::string> env;        // "NAME=VALUE", complete
  std::vector<std::string> cwd_roots;  // inside paths: cwd must end up beneath one of them; empty: no check
  std::string cwd;                     // absolute path inside
  std::string search_path;             // where argv[0] is looked up; empty: env's PATH
  sys::unique_fd stdin_fd, stdout_fd, stderr_fd;
  std::vector<sys::unique_fd> extra_fds;  // become 3, 4, … (a shell's private descriptors)
  bool controlling_terminal = false;      // stdin_fd is a terminal: make it the new session's
};

enum class spawn_stage { fork, cwd, exec, stdin, pty };

// How the leader ended, as the kernel told the anchor (or init, when the anchor itself was killed).
struct leader_end {
  leader_end() = default;
  bool lost = false;    // the sandbox died first: nothing else here is known
  int wait_status = 0;  // as of waitpid(2)
  std::int64_t user_ms = 0, system_ms = 0, max_rss_bytes = 0;
};

enum class signal_target { tree, leader };

// One command's rope. Owned by the process it serves; lives on that process's strand (all members are called there).
// Destroying it is shutdown + close: what still lives beneath is ended by the anchor.
class leash {
 public:
  virtual ~leash() = default;

  // Once. Answers when the command has been exec'ed: its pid inside. Failure: spawn_failed {stage, errno, reason},
  // denied (cwd outside cwd_roots), sandbox_lost. After a failure nothing of it runs.
  virtual async::task<result<pid_t>> spawn(spawn_request request) = 0;

  // Each may be awaited any number of times, before or after the event.
  virtual async::task<leader_end> wait_exited() = 0;  // the leader is reaped
  virtual async::task<void> wait_closed() = 0;  // no descendant is left (after wait_exited), or the sandbox is gone

  // Number of living descendants besides the leader, as the anchor counts them now; 0 once closed or lost.
  virtual async::task<int> survivors() = 0;
  // Their pids inside, the leader included while it lives.
  virtual async::task<std::vector<pid_t>> members() = 0;

  // Fire and forget; after the end they do nothing. `end` kills the whole tree and may be called repeatedly.
  virtual void signal(int number, signal_target target) = 0;
  virtual void end() = 0;
};

}  // namespace sbx::sandbox
