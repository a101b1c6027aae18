#include "client/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

namespace sbx::client {

raw_mode::raw_mode() {
  termios now;
  if (::tcgetattr(STDIN_FILENO, &now) != 0) return;
  before_ = now;
  ::cfmakeraw(&now);
  ::tcsetattr(STDIN_FILENO, TCSADRAIN, &now);
}

void raw_mode::restore() {
  if (before_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &*before_);
  before_.reset();
}

std::optional<screen_size> current_screen() {
  for (const int fd : {STDOUT_FILENO, STDIN_FILENO, STDERR_FILENO}) {
    winsize size;
    if (::ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) continue;
    screen_size made;
    made.rows = size.ws_row;
    made.cols = size.ws_col;
    return made;
  }
  return std::nullopt;
}

std::string detach_filter::feed(std::string_view typed) {
  constexpr char ctrl_p = 0x10, ctrl_q = 0x11;
  std::string out;
  for (const char c : typed) {
    if (held_ && c == ctrl_q) {
      detached_ = true;
      return out;
    }
    if (held_) out += ctrl_p;
    held_ = c == ctrl_p;
    if (!held_) out += c;
  }
  return out;
}

}  // namespace sbx::client
