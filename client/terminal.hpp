// Our own terminal.
#pragma once

#include <termios.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace sbx::client {

// Raw mode on stdin as long as it lives; nothing when stdin is no terminal.
class raw_mode {
 public:
  raw_mode();
  ~raw_mode() { restore(); }
  raw_mode(const raw_mode&) = delete;
  raw_mode& operator=(const raw_mode&) = delete;
  void restore();

 private:
  std::optional<termios> before_;
};

struct screen_size {
  screen_size() = default;
  int rows = 24, cols = 80;
  bool operator==(const screen_size&) const = default;
};
std::optional<screen_size> current_screen();  // nullopt when none of 0 to 2 is a terminal

// Watches what is typed for ctrl-p ctrl-q.
class detach_filter {
 public:
  // What is to be sent of `typed`. A ctrl-p at the end is kept until the next key.
  std::string feed(std::string_view typed);
  bool detached() const { return detached_; }

 private:
  bool held_ = false, detached_ = false;
};

}  // namespace sbx::client
