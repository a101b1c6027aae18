// exec.run: one command from start to end.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/process/capture.hpp"
#include "daemon/process/job.hpp"
#include "daemon/process/process_tree.hpp"

namespace sbx::process {

enum class survivors_rule { leave, kill };

struct exec_request {
  exec_request() = default;
  process::command command;
  std::string stdin_data;  // without stdin_fd: fed to the command, then end-of-file
  std::optional<sys::unique_fd> stdin_fd, stdout_fd, stderr_fd;  // handed over to the command
  bool merge_stderr = false;
  std::size_t output_bytes_max = 1u << 20;  // of each stream
  std::optional<std::chrono::milliseconds> timeout;
  std::chrono::milliseconds grace{2000};
  survivors_rule survivors = survivors_rule::leave;
  // Not done by then: it answers, and the command goes on as a job that keeps job_retain_bytes of each stream.
  std::optional<std::chrono::milliseconds> yield;
  std::size_t job_retain_bytes = 1u << 20;
};

struct exec_result {
  exec_result() = default;
  exit_status exit;
  std::optional<captured> out, err;  // nothing for a stream that was handed over or merged
  int survivors = 0;
  std::shared_ptr<process_tree> left;  // the tree, when something of it lives on
  std::shared_ptr<process::job> job;   // it yielded: there is no exit yet, and out and err are what was there so far
};

// Why an exec is to stop before its end.
enum class exec_stop { cancel, kill };

// One exec. Lives on its strand.
class exec : public std::enable_shared_from_this<exec> {
 public:
  exec(std::shared_ptr<sandbox::sandbox> box, async::strand strand);

  // Starts, waits and answers. After stop() it answers too, when the whole tree has ended.
  async::task<result<exec_result>> run(exec_request request);

  // cancel: TERM, grace, KILL. kill: at once. Before the start has happened it takes effect right after; once it has
  // yielded, none.
  void stop(exec_stop how);
  void signal(int number, sandbox::signal_target target);

  const async::strand& strand() const { return strand_; }
  // The process, once started: what a workspace ends at restart.
  const std::shared_ptr<process_tree>& running() const { return process_; }

 private:
  using captures = std::pair<std::shared_ptr<capture>, std::shared_ptr<capture>>;
  async::task<void> wait_finished(std::optional<std::chrono::milliseconds> limit);
  async::task<exec_result> finish(survivors_rule survivors, captures streams);
  exec_result go_on(std::size_t retain_bytes, captures streams);

  async::strand strand_;
  std::shared_ptr<process_tree> process_;
  std::chrono::milliseconds grace_{2000};
  std::optional<exec_stop> stopping_;
  std::vector<std::pair<int, sandbox::signal_target>> early_signals_;  // sent right after the start
  bool started_ = false, yielded_ = false;
};

}  // namespace sbx::process
