// Where the output of a process goes.
#pragma once

#include <cstddef>

#include "daemon/sys/fd.hpp"

namespace sbx::process {

enum class drained { more, empty, ended };

// Fed on its process's strand until it is told that the stream has ended, or replaced.
class output_sink {
 public:
  virtual ~output_sink() = default;
  // Takes what is in the pipe or terminal now, at most some 256 KiB at once: `more` when there may be more, `empty`
  // when the pipe has nothing now, `ended` at end-of-file. `bytes` is raised by what was taken.
  virtual drained drain(sys::fd_ref source, std::size_t& bytes) = 0;
  // Nothing more comes. May be told more than once.
  virtual void finish() {}
};

// Output that nobody wants any more: read, so that its writer neither blocks nor dies of SIGPIPE, and forgotten.
class discarding_sink final : public output_sink {
 public:
  drained drain(sys::fd_ref source, std::size_t& bytes) override;
};

}  // namespace sbx::process
