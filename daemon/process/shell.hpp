// A bash whose directory, variables and functions persist between commands; a new one takes its place when it is lost.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/process/bash.hpp"

namespace sbx::process {

struct shell_options {
  shell_options() = default;
  // Asked for each life, on any executor: the sandbox, running.
  std::function<async::task<result<std::shared_ptr<sandbox::sandbox>>>()> box;
  // Env, cwd and cwd_roots for a life in it; argv is the shell's own.
  std::function<process::command(const sandbox::sandbox&)> command;
  // Told of each life's process; and of one that has ended while descendants of it live on. On the shell's strand.
  std::function<void(std::shared_ptr<process_tree>)> started, left;
  std::chrono::milliseconds grace{2000};  // between an interrupt and the end of the whole shell
};

struct shell_run_request {
  shell_run_request() = default;
  std::string line;
  std::optional<std::chrono::milliseconds> timeout;
  std::size_t output_bytes_max = 1u << 20;
};

struct shell_result {
  shell_result() = default;
  exit_status exit;  // without `used` where the shell goes on
  captured out, err;
  int survivors = 0;
  std::string cwd;
  bool restarted = false;  // the shell was lost, by this command or before it: the next one begins afresh
};

// Lives on its strand: every member is called there.
class shell : public std::enable_shared_from_this<shell> {
 public:
  shell(async::strand strand, shell_options options);

  // Starts the first bash. Errors: as box() and process_tree::start.
  async::task<result<void>> open();

  // One at a time: conflict. Errors besides: as open(), when a new bash was needed.
  async::task<result<shell_result>> run(shell_run_request request);
  // The command that runs is interrupted, and answers with outcome cancelled.
  void cancel();

  // Kills all of it (outcome stopped); answers when nothing of it runs. A command that runs answers.
  async::task<void> end();

  bool ended() const { return ended_; }
  const async::strand& strand() const { return strand_; }

 private:
  struct deadlines;
  async::task<result<void>> start_life();
  async::task<void> wait_for_line(std::optional<std::chrono::milliseconds> timeout);
  async::task<shell_result> lost_life();
  shell_result line_result(std::chrono::steady_clock::time_point began);
  async::task<shell_result> settle(std::chrono::steady_clock::time_point began);

  async::strand strand_;
  shell_options options_;
  std::shared_ptr<bash> life_;
  std::string first_cwd_;
  bool busy_ = false, ended_ = false;
  std::optional<outcome> interrupted_;  // why the line that runs is to end
};

}  // namespace sbx::process
