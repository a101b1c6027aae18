// Our own stdin, stdout and stderr as a command's: handed over where they may cross the wall, else spliced through a
// pipe.
#pragma once

#include <poll.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/failure.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::client {

enum class direction { in, out };

// A pipe, a socket or /dev/null, open in that direction.
bool can_be_handed_over(sys::fd_ref fd, direction way);

// Moves bytes from one descriptor to another as both allow, by splice where the kernel can. One of the two is a pipe of
// ours.
class pump {
 public:
  static pump into_pipe(sys::fd_ref from, sys::unique_fd pipe);  // closes the pipe at the end of `from`
  static pump out_of_pipe(sys::unique_fd pipe, sys::fd_ref to);

  bool done() const { return done_; }
  direction way() const { return way_; }
  // What it waits for.
  pollfd wanted() const;
  // After poll said so: moves what can be moved without blocking (a stopped terminal may block).
  void step();
  // From now on only what is in the pipe already.
  void limit_to_available();

 private:
  pump() = default;
  void step_splice();
  void step_copy();
  void write_pending();
  void finish();

  direction way_ = direction::in;
  sys::unique_fd pipe_;
  sys::fd_ref from_, to_;
  bool done_ = false, splice_works_ = true, wait_for_room_ = false, ended_ = false;
  std::size_t left_ = SIZE_MAX;
  std::string pending_;
};

// What goes along with a request, and what has to be pumped meanwhile.
struct stdio_plan {
  stdio_plan() = default;
  std::optional<std::size_t> in, out, err;  // indices into fds
  std::vector<sys::fd_ref> fds;
  std::vector<sys::unique_fd> pipe_ends;  // the command's; closed once sent
  std::vector<pump> pumps;
};

enum class stdin_use { none, pass };
enum class output_use { pass, capture };
outcome<stdio_plan> plan_stdio(stdin_use in, output_use out);

}  // namespace sbx::client
