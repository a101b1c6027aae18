// A command on a terminal of its own.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "daemon/process/recording.hpp"
#include "daemon/sys/pty.hpp"

namespace sbx::process {

struct pty_request {
  pty_request() = default;
  process::command command;  // TERM is in its env
  sys::screen_size size;
  std::size_t retain_bytes = 1u << 20;
  std::chrono::milliseconds grace{2000};
};

// One log: a terminal has one stream. stop() hangs up first.
class pty final : public recording {
 public:
  // The size is set before the command starts. Errors: spawn_failed {stage pty among others}, denied, sandbox_lost.
  static async::task<result<std::shared_ptr<pty>>> open(std::shared_ptr<sandbox::sandbox> box, async::strand strand,
                                                        pty_request request);

  // Who runs in the foreground gets SIGWINCH. After the end it only changes what size() says.
  result<void> resize(sys::screen_size size);
  sys::screen_size size() const { return size_; }

 protected:
  std::optional<int> first_signal() const override;

 private:
  pty(std::shared_ptr<process_tree> process, std::shared_ptr<output_log> log, pty_request& request);
  async::task<void> let_go();

  sys::screen_size size_;
  // Kept until the tree has ended, so that a command which closes its terminal and opens it again finds it as it was,
  // and reading the master means waiting, not an error again and again.
  sys::unique_fd slave_;
};

}  // namespace sbx::process
