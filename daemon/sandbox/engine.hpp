// A container engine through its own command line, asynchronously: nothing waits on the reactor, no output is
// unbounded.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "daemon/async/task.hpp"
#include "daemon/sandbox/program.hpp"
#include "daemon/sandbox/spec.hpp"

namespace sbx::sandbox {

class engine {
 public:
  // `program` is a path, or a name that is looked up in the daemon's PATH now, once for all.
  engine(helper_keeper& keeper, backend_kind kind, const std::string& program);

  backend_kind kind() const { return kind_; }

  // Runs `program arguments…` with the daemon's own environment. A failure to run it at all, or to end in time, is
  // sandbox_unavailable; a code other than 0 is an answer. When the caller is cancelled, the program is killed.
  // `on_text` is told of each piece of its output as it comes.
  async::task<result<program_answer>> run(std::vector<std::string> arguments, std::chrono::milliseconds limit,
                                          pipe_reader::observer on_text = {},
                                          std::size_t output_bytes_max = 256 * 1024);

 private:
  helper_keeper& keeper_;
  backend_kind kind_;
  std::string name_;
  std::optional<std::string> path_;
  std::vector<std::string> environment_;
};

// What an engine said when it failed, as sandbox_unavailable with cause and remedy. Pure.
error explain_engine(backend_kind kind, std::string_view said);

// The image is simply not there yet. Pure.
bool says_no_such_image(std::string_view said);
bool says_no_such_container(std::string_view said);

}  // namespace sbx::sandbox
