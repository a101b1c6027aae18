// Running a helper program to its end.
#pragma once

#include <chrono>
#include <string>

#include "daemon/async/task.hpp"
#include "daemon/sandbox/helper.hpp"

namespace sbx::sandbox {

struct pipe_ends {
  pipe_ends() = default;
  sys::unique_fd read_end, write_end;
};
result<pipe_ends> make_pipe();  // both CLOEXEC

struct program_answer {
  program_answer() = default;
  bool in_time = true;         // false: killed, the rest is what was seen until then
  int code = 0;                // exit code; 128 + n after signal n
  std::string output, errors;  // stdout's beginning, stderr's end
};

// Its stdout and stderr are read, its descriptors of `setup` ignored. Killed when it is late, or the caller is
// cancelled. `on_errors` is told of each piece of stderr as it comes. Fails only when it cannot be started.
async::task<result<program_answer>> run_program(helper_keeper& keeper, sys::child_setup setup,
                                                std::chrono::milliseconds limit, pipe_reader::observer on_text = {},
                                                std::size_t output_bytes_max = 256 * 1024);

}  // namespace sbx::sandbox
