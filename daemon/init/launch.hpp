// Starting one command: everything between clone and execve.
#pragma once

#include <sys/types.h>

#include "daemon/sys/init_wire.hpp"

namespace sbx::init {

namespace wire = sys::init_wire;

// A spawn message taken apart; all pointers go into its text.
struct command {
  const char* cwd;
  const char** roots;  // root_count of them
  std::uint32_t root_count;
  char** argv;  // ended by nullptr, as environment
  char** environment;
  bool controlling_terminal;
  const int* fds;  // stdin, stdout, stderr, then what becomes 3, 4, …
  int fd_count;
};

// Splits `text`, which must end with NUL. False when it does not hold what the head announces. `pointers` is room for
// roots + argv + environment + 2 pointers.
bool parse_command(const wire::spawn& head, char* text, std::size_t bytes, char** pointers, command& out);

struct launched {
  pid_t pid;  // 0: failed, and nothing runs
  wire::spawn_failed failure;
};

// Returns when the command has been exec'ed or has failed.
launched launch(const command& wanted, const wire::setup& defaults);

}  // namespace sbx::init
