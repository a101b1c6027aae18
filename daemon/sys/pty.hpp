// Terminals, seen from their master's side.
#pragma once

#include "daemon/sys/error.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::sys {

struct screen_size {
  screen_size() = default;
  screen_size(unsigned short rows_, unsigned short cols_) : rows(rows_), cols(cols_) {}
  unsigned short rows = 24, cols = 80;
};

// By either end. Whoever runs in the foreground gets SIGWINCH when it changed. Error: io.
result<void> set_screen_size(fd_ref terminal, screen_size size);
result<screen_size> get_screen_size(fd_ref terminal);

}  // namespace sbx::sys
