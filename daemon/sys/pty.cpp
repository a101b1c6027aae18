#include "daemon/sys/pty.hpp"

#include <sys/ioctl.h>

#include <cerrno>

namespace sbx::sys {

result<void> set_screen_size(fd_ref terminal, screen_size size) {
  winsize wanted{size.rows, size.cols, 0, 0};
  if (::ioctl(terminal.get(), TIOCSWINSZ, &wanted) != 0) return fail_system(errno, "resizing a terminal");
  return {};
}

result<screen_size> get_screen_size(fd_ref terminal) {
  winsize found{};
  if (::ioctl(terminal.get(), TIOCGWINSZ, &found) != 0) return fail_system(errno, "asking a terminal for its size");
  return screen_size(found.ws_row, found.ws_col);
}

}  // namespace sbx::sys
