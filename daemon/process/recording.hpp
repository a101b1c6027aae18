// A process whose output is kept and can be read by offset: what jobs and terminals have in common.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/process/input.hpp"
#include "daemon/process/output_log.hpp"
#include "daemon/process/process_tree.hpp"

namespace sbx::process {

enum class stream_id { out, err };

// What came of reading, with how things stood at that moment.
struct log_answer : log_chunk {
  log_answer() = default;
  bool eof = false;  // closed, and this read reached the end
  bool exited = false;
  std::optional<exit_status> exit;
};

// Lives on strand(): every member is called there. Two events: exited (the leader is reaped and what was in its pipes
// is in the log) and closed (the tree is empty and the output read to its end).
class recording : public std::enable_shared_from_this<recording> {
 public:
  virtual ~recording() = default;

  // Non-consuming. Waits up to `wait` for the first byte (in text the first whole character) from `offset`, a loss, or
  // the end. `err` of a process without a log of its own for it is empty.
  async::task<log_answer> read(stream_id stream, std::int64_t offset, std::size_t max_bytes, reading how,
                               std::chrono::milliseconds wait);

  // For followers: the next at most max_bytes from `offset`, as soon as there are some, with what was lost before them.
  // at_end with nothing to say: closed, and nothing comes after `offset`.
  async::task<log_chunk> next(stream_id stream, std::int64_t offset, std::size_t max_bytes, reading how);

  async::task<void> wait_exited();
  async::task<void> wait_closed();
  // For *.wait: answers when exited or after `limit`.
  async::task<void> wait_exited_for(std::optional<std::chrono::milliseconds> limit);

  bool exited() const { return process_->finished(); }
  bool closed() const { return process_->closed(); }
  std::optional<exit_status> exit() const;
  std::int64_t total_bytes() const;
  std::chrono::system_clock::time_point started_at() const { return process_->started_at(); }
  bool has_stream(stream_id stream) const { return log_of(stream) != nullptr; }

  // Error: io EPIPE when the command does not read its input (any more); invalid_params when it was given none.
  async::task<result<std::size_t>> write(std::string data, reading how, std::chrono::milliseconds wait);

  void signal(int number, sandbox::signal_target target) { process_->signal(number, target); }
  // TERM (a terminal: HUP first), grace (default: as at its start), KILL of every descendant; answers once closed.
  // Going away does not take it back.
  async::task<void> stop(std::optional<std::chrono::milliseconds> grace);
  // KILL at once.
  async::task<void> end();

  const async::strand& strand() const { return process_->strand(); }
  const std::shared_ptr<process_tree>& process() const { return process_; }

 protected:
  recording(std::shared_ptr<process_tree> process, std::shared_ptr<output_log> out, std::shared_ptr<output_log> err,
            std::chrono::milliseconds grace);
  // Once the process runs. Tells readers of the end.
  void begin();
  virtual std::optional<int> first_signal() const { return std::nullopt; }
  const std::shared_ptr<output_log>& log_of(stream_id stream) const { return stream == stream_id::out ? out_ : err_; }
  void set_input(std::shared_ptr<process::input> to) { input_ = std::move(to); }
  const std::shared_ptr<process::input>& get_input() const { return input_; }

 private:
  std::shared_ptr<process_tree> process_;
  std::shared_ptr<output_log> out_, err_;  // err_: only where the streams are apart
  std::shared_ptr<process::input> input_;
  std::chrono::milliseconds grace_;
};

}  // namespace sbx::process
