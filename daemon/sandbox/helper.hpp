// Helper programs (bwrap, an engine's command line, init on the host) as things that coroutines await.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "daemon/async/event.hpp"
#include "daemon/async/task.hpp"
#include "daemon/async/task_group.hpp"
#include "daemon/sys/child.hpp"

namespace sbx::sandbox {

// One started program. Reaped by its keeper when it ends, whoever still holds this.
class helper {
 public:
  explicit helper(sys::child started) : child_(std::move(started)) {}

  pid_t pid() const { return child_.pid; }
  bool has_ended() const { return ended_.is_set(); }
  int status() const { return status_; }  // as of waitpid(2), once ended
  async::task<void> wait_ended() { return ended_.wait(); }
  void kill();  // SIGKILL; nothing after its end

 private:
  friend class helper_keeper;
  sys::child child_;
  int status_ = 0;
  async::event ended_;
};

// Bytes of a pipe as they come: the first or the last `bytes_max` of them are kept. Reads until end-of-file.
class pipe_reader {
 public:
  enum class keep { first, last };
  using observer = std::function<void(std::string_view bytes)>;
  pipe_reader(keep which, std::size_t bytes_max, observer told = {})
      : keep_(which), bytes_max_(bytes_max), told_(std::move(told)) {}

  const std::string& text() const { return text_; }
  bool cut() const { return cut_; }
  async::task<void> wait_closed() { return closed_.wait(); }

 private:
  friend class helper_keeper;
  void add(std::string_view bytes);
  keep keep_;
  std::size_t bytes_max_;
  observer told_;
  std::string text_;
  bool cut_ = false;
  async::event closed_;
};

// Owns the tasks that reap helpers and read their pipes. Destroying it kills nobody. All members are called on its
// strand.
class helper_keeper {
 public:
  explicit helper_keeper(async::asio::io_context& context);

  // Blocks until the program is executed.
  result<std::shared_ptr<helper>> start(const sys::child_setup& setup);

  std::shared_ptr<pipe_reader> read(sys::unique_fd pipe, std::shared_ptr<pipe_reader> reader);

  // All of them run here, and the backends do too: what they share needs no other guard.
  const async::strand& strand() const { return strand_; }

  // For what must go on whoever holds the thing it is about (a sandbox's watch).
  async::task_group& tasks() { return tasks_; }

 private:
  async::asio::io_context& context_;
  async::strand strand_;
  async::task_group tasks_;
};

}  // namespace sbx::sandbox
