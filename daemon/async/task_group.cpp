#include "daemon/async/task_group.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#include <list>
#include <mutex>
#include <utility>

#include "daemon/async/event.hpp"

namespace sbx::async {

namespace {

failure_sink& default_sink() {
  static failure_sink sink = [](std::string_view, std::exception_ptr) { std::terminate(); };
  return sink;
}

bool is_cancellation(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const boost::system::system_error& e) {
    return e.code() == asio::error::operation_aborted;
  } catch (...) {
    return false;
  }
}

}  // namespace

void set_default_failure_sink(failure_sink sink) {
  default_sink() = std::move(sink);
}

// Where a running task listens for its cancellation.
struct task_group::handle::place {
  explicit place(asio::any_io_executor executor_) : executor(std::move(executor_)) {}
  const asio::any_io_executor executor;
  asio::cancellation_signal signal;                        // touched on the executor alone
  bool started = false, cancelled = false, ended = false;  // likewise
};

void task_group::handle::cancel() const {
  auto place = place_.lock();
  if (!place) return;
  const auto executor = place->executor;
  asio::dispatch(executor, [place = std::move(place)] {
    place->cancelled = true;
    if (place->started && !place->ended) place->signal.emit(asio::cancellation_type::terminal);
  });
}

struct task_group::state : std::enable_shared_from_this<state> {
  state(asio::any_io_executor executor_, failure_sink sink_) : executor(std::move(executor_)), sink(std::move(sink_)) {}

  using place = handle::place;
  using running_list = std::list<std::shared_ptr<place>>;

  // The three below run on the executor, which alone touches `running` and `cancelled`.
  void start(const char* what, task<void> work, std::shared_ptr<place> where) {
    if (cancelled || where->cancelled) return ended();  // destroys the task unstarted
    where->started = true;
    const auto at = running.insert(running.end(), where);
    auto on_end = [self = shared_from_this(), what, at](std::exception_ptr failure) {
      (*at)->ended = true;
      self->running.erase(at);
      self->report(what, failure);
      self->ended();
    };
    asio::co_spawn(executor, std::move(work), asio::bind_cancellation_slot(where->signal.slot(), std::move(on_end)));
  }

  void report(const char* what, const std::exception_ptr& failure) {
    if (!failure || is_cancellation(failure)) return;
    (sink ? sink : default_sink())(what, failure);
  }

  void cancel_all() {
    cancelled = true;
    // A task may end (and leave the list) while it is told; its neighbours may not: completions are never inline here.
    for (auto at = running.begin(); at != running.end();) {
      const auto next = std::next(at);
      const auto where = *at;
      if (!where->ended) where->signal.emit(asio::cancellation_type::terminal);
      at = next;
    }
  }

  void ended() {
    {
      const std::lock_guard lock(mutex);
      --count;
    }
    changed.notify_all();
  }

  const asio::any_io_executor executor;
  const failure_sink sink;
  running_list running;
  bool cancelled = false;
  signal changed;
  mutable std::mutex mutex;
  std::size_t count = 0;
};

task_group::task_group(asio::any_io_executor executor, failure_sink sink)
    : state_(std::make_shared<state>(std::move(executor), std::move(sink))) {}

task_group::~task_group() {
  cancel();
}

task_group::handle task_group::spawn(const char* what, task<void> work) {
  auto where = std::make_shared<handle::place>(state_->executor);
  handle made;
  made.place_ = where;
  {
    const std::lock_guard lock(state_->mutex);
    ++state_->count;
  }
  asio::dispatch(state_->executor, [state = state_, what, work = std::move(work), where = std::move(where)]() mutable {
    state->start(what, std::move(work), std::move(where));
  });
  return made;
}

void task_group::cancel() {
  asio::dispatch(state_->executor, [state = state_] { state->cancel_all(); });
}

task<void> task_group::join() {
  const auto state = state_;
  for (;;) {
    const auto seen = state->changed.generation();
    {
      const std::lock_guard lock(state->mutex);
      if (state->count == 0) co_return;
    }
    auto pending = state->changed.wait_past(seen);
    co_await std::move(pending);
  }
}

std::size_t task_group::size() const {
  const std::lock_guard lock(state_->mutex);
  return state_->count;
}

const asio::any_io_executor& task_group::executor() const {
  return state_->executor;
}

}  // namespace sbx::async
