// One command and all it forks: what exec, job, pty and shell have in common. It owns the leash and the daemon's ends
// of the command's pipes; they differ in where the output goes and who waits.
#pragma once

#include <atomic>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/async/event.hpp"
#include "daemon/async/task_group.hpp"
#include "daemon/process/command.hpp"
#include "daemon/process/exit.hpp"
#include "daemon/process/sink.hpp"
#include "daemon/sandbox/sandbox.hpp"

namespace sbx::process {

// One of the daemon's ends of the command's output, drained from start to end whoever reads.
struct output_stream {
  output_stream() = default;
  output_stream(sys::unique_fd source_, std::shared_ptr<output_sink> sink_)
      : source(std::move(source_)), sink(std::move(sink_)) {}
  sys::unique_fd source;  // non-blocking
  std::shared_ptr<output_sink> sink;
};

struct start_request {
  start_request() = default;
  process::command command;
  sys::unique_fd stdin_fd, stdout_fd, stderr_fd;  // the command's own
  std::vector<sys::unique_fd> extra_fds;
  bool controlling_terminal = false;
  std::vector<output_stream> outputs;
};

// Lives on its strand: every member is called there. Shared by whoever waits for it; ends its tree when the last goes.
class process_tree : public std::enable_shared_from_this<process_tree> {
 public:
  process_tree(std::shared_ptr<sandbox::sandbox> box, async::strand strand);
  ~process_tree();

  // Once. On failure nothing runs and the outputs are closed. Draining begins by itself.
  async::task<result<void>> start(start_request request);

  // The leader is reaped and what was in its pipes has been drained: at end-of-file, as soon as tree and pipes are
  // empty, or, when a descendant keeps a pipe, after 50 ms without a byte and at most 500 ms in all.
  async::task<void> wait_finished();
  // No descendant is left and the output was read to its end.
  async::task<void> wait_closed();

  bool finished() const { return finished_.is_set(); }
  bool closed() const { return closed_.is_set(); }
  // Valid once finished.
  const exit_status& exit() const { return exit_; }

  // TERM (after `first`, e.g. SIGHUP, when given), grace, then KILL of every descendant. The first reason counts,
  // unless the leader had ended by itself. A later call can only shorten the grace. Answers nothing: await
  // wait_closed().
  void stop(outcome reason, std::chrono::milliseconds grace, std::optional<int> first = std::nullopt);
  // Kills everything at once.
  void kill(outcome reason);

  void signal(int number, sandbox::signal_target target);

  // Calls stop when the leader is not reaped by then.
  void limit_time(std::chrono::milliseconds timeout, std::chrono::milliseconds grace);

  // Living descendants besides the leader; 0 once the tree is empty.
  async::task<int> survivors();

  // From now on output is drained and dropped.
  void drop_output();
  // What went to `old` goes to `fresh` from now on; that is finished at once when the stream has ended.
  void redirect(const std::shared_ptr<output_sink>& old, std::shared_ptr<output_sink> fresh);
  // Takes what is in the pipes at this moment, some 256 KiB of each at most. True when it found them all empty or
  // ended.
  bool drain_now();

  pid_t leader() const { return leader_; }
  std::chrono::system_clock::time_point started_at() const { return started_at_; }
  const async::strand& strand() const { return strand_; }
  async::task_group& tasks() { return tasks_; }

 private:
  struct drain_state;
  async::task<void> drain(std::shared_ptr<drain_state> stream);
  async::task<void> watch();
  async::task<void> settle();
  async::task<void> watch_closed();
  bool outputs_ended() const;
  void set_exit(const sandbox::leader_end& end);
  void end_tree();

  std::shared_ptr<sandbox::sandbox> box_;
  async::strand strand_;
  std::unique_ptr<sandbox::leash> leash_;
  std::vector<std::shared_ptr<drain_state>> outputs_;
  std::atomic<pid_t> leader_ = 0;  // read by the workspace, on its own strand
  std::chrono::steady_clock::time_point began_;
  std::chrono::system_clock::time_point started_at_;
  exit_status exit_;
  std::optional<outcome> stop_reason_;
  bool exited_ = false, tree_empty_ = false, ending_ = false;
  async::event finished_, closed_;
  async::signal progress_;  // an output ended, a byte came, the tree became empty
  std::chrono::steady_clock::time_point last_byte_;
  async::asio::steady_timer ladder_, timeout_, last_resort_;
  std::optional<std::chrono::steady_clock::time_point> ladder_at_;
  async::task_group tasks_;
};

// A pipe whose daemon end does not block: {read, write}. Errors: spawn_failed {stage fork, resources}.
struct pipe_pair {
  pipe_pair() = default;
  sys::unique_fd read, write;
};
result<pipe_pair> open_output_pipe();  // `read` is ours
result<pipe_pair> open_input_pipe();   // `write` is ours
result<sys::unique_fd> open_null();

}  // namespace sbx::process
