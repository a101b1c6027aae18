// Threads for calls that can block: file I/O, never anything else.
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "daemon/async/event.hpp"
#include "daemon/async/stop_flag.hpp"
#include "daemon/async/task.hpp"

namespace sbx::async {

struct pool_limits {
  pool_limits() = default;
  std::size_t threads = 8, threads_max = 64, jobs_per_key = 4;
  std::chrono::milliseconds stuck_after{1000};
};

// Bounded: `threads` at first, one more for each call stuck over a second, at most 64 in all, and at most 4 jobs at
// once of one key (a workspace); further ones queue. Threads that are idle for some seconds end. Destroying the pool
// waits for no thread: one stuck in a system call is left behind with its job.
class blocking_pool {
 public:
  explicit blocking_pool(asio::any_io_executor executor, pool_limits wanted = pool_limits());
  ~blocking_pool();
  blocking_pool(const blocking_pool&) = delete;
  blocking_pool& operator=(const blocking_pool&) = delete;

  // Runs job(flag) on a thread and answers what it returns (or throws what it throws). `job` is moved in and holds
  // values or shared ownership, never references to the caller: when the caller is cancelled, the flag is set and
  // operation_aborted thrown at once, while the job may still run; its answer is dropped then. A job not yet begun is
  // not run.
  template <class Job, class R = std::invoke_result_t<Job, const stop_flag&>>
  task<R> run(std::string key, Job job) {
    auto state = std::make_shared<job_state<R>>();
    std::function<void()> body = make_body<R>(state, std::move(job));
    const auto guard = std::make_unique<stop_on_exit>(state->flag);
    submit(std::move(key), std::move(body));
    auto pending = state->done.wait();
    co_await std::move(pending);
    if (state->failure) std::rethrow_exception(state->failure);
    if constexpr (!std::is_void_v<R>) co_return std::move(*state->value);
  }

  struct gauges {
    gauges() = default;
    std::size_t threads = 0, running = 0, queued = 0;
  };
  gauges stats() const;

 private:
  template <class R>
  struct job_state {
    stop_flag flag;
    std::optional<std::conditional_t<std::is_void_v<R>, bool, R>> value;
    std::exception_ptr failure;
    event done;
  };
  struct stop_on_exit {
    explicit stop_on_exit(const stop_flag& f) : flag(f) {}
    ~stop_on_exit() { flag.stop(); }
    stop_flag flag;
  };

  template <class R, class Job>
  static std::function<void()> make_body(std::shared_ptr<job_state<R>> state, Job job) {
    auto shared_job = std::make_shared<Job>(std::move(job));  // std::function wants copyable things
    return [state, shared_job]() mutable {
      if (!state->flag.stopped()) {
        try {
          if constexpr (std::is_void_v<R>)
            (*shared_job)(std::as_const(state->flag));
          else
            state->value.emplace((*shared_job)(std::as_const(state->flag)));
        } catch (...) {
          state->failure = std::current_exception();
        }
      }
      shared_job.reset();  // what the job holds is let go before its answer is seen
      state->done.set();
    };
  }

  void submit(std::string key, std::function<void()> body);

  struct core;
  std::shared_ptr<core> core_;
};

}  // namespace sbx::async
