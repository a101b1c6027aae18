#include "daemon/async/run.hpp"

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <exception>
#include <memory>

namespace sbx::async {

namespace detail {

namespace {

using end_handler = asio::async_result<asio::use_awaitable_t<>, void(std::exception_ptr)>::handler_type;

// A task that runs elsewhere. Boost 1.81's co_spawn forwards a cancellation to the other executor by a bare pointer
// into the caller's slot, which may be gone when it arrives; here both sides share this, and only the target touches
// it.
struct remote {
  explicit remote(asio::any_io_executor target_) : target(std::move(target_)) {}
  const asio::any_io_executor target;
  asio::cancellation_signal cancel;
  bool ended = false, cut = false;  // cut: by an event
};

void start(const std::shared_ptr<remote>& there, task<void> work, end_handler caller) {
  auto on_end = [there, caller = std::move(caller)](std::exception_ptr failure) mutable {
    there->ended = true;
    auto executor = asio::get_associated_executor(caller);
    asio::dispatch(executor, [caller = std::move(caller), failure]() mutable { std::move(caller)(failure); });
  };
  asio::co_spawn(there->target, std::move(work), asio::bind_cancellation_slot(there->cancel.slot(), std::move(on_end)));
}

struct initiate_remote {
  initiate_remote(std::shared_ptr<remote> there_, task<void> work_, cancellation mode_)
      : there(std::move(there_)), work(std::move(work_)), mode(mode_) {}

  void operator()(end_handler caller) {
    auto slot = asio::get_associated_cancellation_slot(caller);
    if (mode == cancellation::forward && slot.is_connected()) {
      slot.assign([there = there](asio::cancellation_type type) {
        asio::post(there->target, [there, type] {
          if (!there->ended) there->cancel.emit(type);
        });
      });
    }
    asio::dispatch(there->target, [there = there, work = std::move(work), caller = std::move(caller)]() mutable {
      start(there, std::move(work), std::move(caller));
    });
  }

  std::shared_ptr<remote> there;
  task<void> work;
  cancellation mode;
};

struct initiate_call {
  initiate_call(asio::any_io_executor target_, std::function<void()> f_)
      : target(std::move(target_)), f(std::move(f_)) {}

  void operator()(end_handler caller) {
    asio::dispatch(target, [f = std::move(f), caller = std::move(caller)]() mutable {
      std::exception_ptr failure;
      try {
        f();
      } catch (...) {
        failure = std::current_exception();
      }
      auto executor = asio::get_associated_executor(caller);
      asio::post(executor, [caller = std::move(caller), failure]() mutable { std::move(caller)(failure); });
    });
  }

  asio::any_io_executor target;
  std::function<void()> f;
};

bool is_aborted(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const boost::system::system_error& e) {
    return e.code() == asio::error::operation_aborted;
  } catch (...) {
    return false;
  }
}

// What became of work that raced something else: true when it ended by itself.
task<bool> settle(std::exception_ptr failure, bool other_first) {
  if (!failure) co_return true;
  const auto state = co_await asio::this_coro::cancellation_state;
  const bool caller_cancelled = state.cancelled() != asio::cancellation_type::none;
  if (other_first && !caller_cancelled && is_aborted(failure)) co_return false;
  std::rethrow_exception(failure);
}

}  // namespace

template <class Initiation>
task<void> initiated(Initiation initiation) {
  auto pending = asio::async_initiate<const asio::use_awaitable_t<>, void(std::exception_ptr)>(std::move(initiation),
                                                                                               asio::use_awaitable);
  return pending;
}

task<void> run_on(asio::any_io_executor target, task<void> work, cancellation mode) {
  return initiated(initiate_remote(std::make_shared<remote>(std::move(target)), std::move(work), mode));
}

task<void> call_on(asio::any_io_executor target, std::function<void()> f) {
  return initiated(initiate_call(std::move(target), std::move(f)));
}

task<bool> run_for(task<void> work, duration limit) {
  const auto executor = co_await asio::this_coro::executor;
  asio::steady_timer timer(executor, limit);
  auto group = asio::experimental::make_parallel_group(asio::co_spawn(executor, std::move(work), asio::deferred),
                                                       timer.async_wait(asio::deferred));
  auto pending = group.async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);
  const auto [order, failure, timer_error] = co_await std::move(pending);
  auto settled = settle(failure, order[0] == 1);
  co_return co_await std::move(settled);
}

task<bool> run_until(task<void> work, event& stop) {
  if (stop.is_set()) co_return false;
  const auto there = std::make_shared<remote>(co_await asio::this_coro::executor);
  auto cut = [there] {
    asio::post(there->target, [there] {
      if (there->ended) return;
      there->cut = true;
      there->cancel.emit(asio::cancellation_type::terminal);
    });
  };
  const auto watching = stop.on_set(std::move(cut));
  std::exception_ptr failure;
  try {
    auto pending = initiated(initiate_remote(there, std::move(work), cancellation::forward));
    co_await std::move(pending);
  } catch (...) {
    failure = std::current_exception();
  }
  auto settled = settle(failure, there->cut);
  co_return co_await std::move(settled);
}

}  // namespace detail

task<void> sleep_for(duration time) {
  asio::steady_timer timer(co_await asio::this_coro::executor, time);
  auto pending = timer.async_wait(asio::use_awaitable);
  co_await std::move(pending);
}

}  // namespace sbx::async
