// Signals as something that is read, for as long as the object lives.
#pragma once

#include <signal.h>

#include <initializer_list>
#include <optional>

#include "daemon/sys/fd.hpp"

namespace sbx::client {

class signal_reader {
 public:
  // Those that were ignored when the program was started stay so.
  explicit signal_reader(std::initializer_list<int> numbers);
  ~signal_reader();
  signal_reader(const signal_reader&) = delete;
  signal_reader& operator=(const signal_reader&) = delete;

  sys::fd_ref fd() const { return fd_; }
  std::optional<int> next();  // does not block

 private:
  sys::unique_fd fd_;
  sigset_t before_;
};

}  // namespace sbx::client
