// Starting a helper program of the daemon (bwrap, an engine's command line, sbx-init on the host).
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/sys/error.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::sys {

struct child_setup {
  child_setup() = default;
  std::string path;  // executed as it is, no lookup
  std::vector<std::string> argv;
  std::vector<std::string> env;  // complete: "NAME=VALUE"
  // What becomes descriptor `second`; 0–2 that are not named are /dev/null. Nothing else is inherited.
  std::vector<std::pair<fd_ref, int>> descriptors;
  int death_signal = 0;  // sent when the thread that started it ends; 0: none
  std::optional<mode_t> umask;
  std::vector<std::pair<int, rlimit>> rlimits;  // set as far as they may be
};

struct child {
  child() = default;
  pid_t pid = -1;  // unreaped; the owner of `pidfd` waits for it
  unique_fd pidfd;
};

// In a session of its own, with default dispositions and an empty signal mask. Blocks until the program is executed.
// Error: io with the errno of what failed; then no process is left.
result<child> start_child(const child_setup& setup);

// Once, after the pidfd polled readable: the status as of waitpid(2).
result<int> reap(fd_ref pidfd);

// Does nothing to a process that has ended.
void send_signal(fd_ref pidfd, int number);

// An absolute path for a program's name as execvp would find it; a name with '/' stands for itself. Nothing when there
// is none.
std::optional<std::string> find_program(const std::string& name, const std::string& path_variable);

}  // namespace sbx::sys
