// The owner of running coroutines. Every task<void> that nobody awaits belongs to one.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string_view>

#include "daemon/async/task.hpp"

namespace sbx::async {

// Receives what a task threw (never operation_aborted). Called on the group's executor; must not throw.
using failure_sink = std::function<void(std::string_view what, std::exception_ptr failure)>;

// Sets the sink of all groups that were given none; main does so once, before anything runs. Default: std::terminate.
void set_default_failure_sink(failure_sink sink);

// Lives as long as its owner: cancel, join, destroy. All members may be called from any thread; the tasks run on the
// executor given (a strand, or a single-threaded context).
class task_group {
 public:
  explicit task_group(asio::any_io_executor executor, failure_sink sink = {});
  // Cancels what still runs. Such tasks end on their own soon after; join first wherever they refer to your members.
  ~task_group();
  task_group(const task_group&) = delete;
  task_group& operator=(const task_group&) = delete;

  // One task of a group, to cancel it alone. Outlives task and group harmlessly.
  class handle {
   public:
    handle() = default;
    void cancel() const;

   private:
    friend class task_group;
    struct place;
    std::weak_ptr<place> place_;
  };

  // Starts `work`: at once and inline when called on the executor, else posted to it. `what` must be a literal: it
  // names the task in failures. After cancel(), new tasks are destroyed unstarted.
  handle spawn(const char* what, task<void> work);

  // Asks every task to end (terminal cancellation); none can be started any more.
  void cancel();

  // Answers when no task is left. Does not cancel.
  task<void> join();

  std::size_t size() const;
  const asio::any_io_executor& executor() const;

 private:
  struct state;
  std::shared_ptr<state> state_;
};

}  // namespace sbx::async
