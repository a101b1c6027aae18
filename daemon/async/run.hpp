// Ways to run one task from another: elsewhere, for a limited time, until an event, or beyond the reach of
// cancellation. Each awaits the real end of the inner task before it answers, so the inner task may refer to the
// caller's variables.
#pragma once

#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/this_coro.hpp>
#include <chrono>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "daemon/async/event.hpp"
#include "daemon/async/task.hpp"

namespace sbx::async {

using duration = std::chrono::steady_clock::duration;

namespace detail {

// Runs work on `target`. Cancellation of the caller is forwarded when `forward` says so.
enum class cancellation { forward, keep_away };
task<void> run_on(asio::any_io_executor target, task<void> work, cancellation mode);
task<void> call_on(asio::any_io_executor target, std::function<void()> f);

// True when the work ended by itself first; false when it was cancelled by the deadline or event. Rethrows its
// exception (operation_aborted only when the caller itself was cancelled).
task<bool> run_for(task<void> work, duration limit);
task<bool> run_until(task<void> work, event& stop);

template <class T>
task<void> store(task<T> work, std::optional<T>& value) {
  value.emplace(co_await std::move(work));
}

}  // namespace detail

// Runs `work` on another strand, awaits it, and comes back to the caller's own executor.
template <class T>
task<T> on(asio::any_io_executor target, task<T> work) {
  if constexpr (std::is_void_v<T>) {
    auto pending = detail::run_on(std::move(target), std::move(work), detail::cancellation::forward);
    co_await std::move(pending);
  } else {
    std::optional<T> value;
    auto stored = detail::store(std::move(work), value);
    auto pending = detail::run_on(std::move(target), std::move(stored), detail::cancellation::forward);
    co_await std::move(pending);
    co_return std::move(*value);
  }
}

// Calls f() on another strand, awaits its answer, and comes back. For what does not wait: no coroutine is made there,
// and a cancellation of the caller changes nothing about it.
template <class F>
task<std::invoke_result_t<F&>> call_on(asio::any_io_executor target, F f) {
  using answer = std::invoke_result_t<F&>;
  if constexpr (std::is_void_v<answer>) {
    auto pending = detail::call_on(std::move(target), std::ref(f));
    co_await std::move(pending);
  } else {
    std::optional<answer> value;
    auto call = [&f, &value] { value.emplace(f()); };
    auto pending = detail::call_on(std::move(target), std::ref(call));
    co_await std::move(pending);
    co_return std::move(*value);
  }
}

// Runs `work` so that cancelling the caller does not reach it; the caller's next await after it throws then.
// A caller that may be cancelled already says `co_await ignore_cancellation()` before.
template <class T>
task<T> shielded(task<T> work) {
  auto executor = co_await asio::this_coro::executor;
  if constexpr (std::is_void_v<T>) {
    auto pending = detail::run_on(executor, std::move(work), detail::cancellation::keep_away);
    co_await std::move(pending);
  } else {
    std::optional<T> value;
    auto stored = detail::store(std::move(work), value);
    auto pending = detail::run_on(executor, std::move(stored), detail::cancellation::keep_away);
    co_await std::move(pending);
    co_return std::move(*value);
  }
}

// `co_await ignore_cancellation();`: from here to its end this task (down to where it was spawned) cannot be cancelled,
// and a cancellation that came before is forgotten. For clean-up that awaits; give that a deadline.
inline auto ignore_cancellation() {
  return asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
}

// `co_await sleep_for(50ms)`: throws operation_aborted when cancelled.
task<void> sleep_for(duration time);

// What with_deadline and until answer: the value, or nothing when the work was cut short (then it has ended too).
// For task<void>: whether the work ended by itself.
template <class T>
using unless_cut = std::conditional_t<std::is_void_v<T>, bool, std::optional<T>>;

template <class T>
task<unless_cut<T>> with_deadline(task<T> work, duration limit) {
  if constexpr (std::is_void_v<T>) {
    auto pending = detail::run_for(std::move(work), limit);
    co_return co_await std::move(pending);
  } else {
    std::optional<T> value;
    auto stored = detail::store(std::move(work), value);
    auto pending = detail::run_for(std::move(stored), limit);
    co_await std::move(pending);
    co_return std::move(value);
  }
}

// Runs `work` until `stop` is set: it is cancelled then, awaited, and nothing is answered (but its value, when it had
// ended by itself at that moment).
template <class T>
task<unless_cut<T>> until(event& stop, task<T> work) {
  if constexpr (std::is_void_v<T>) {
    auto pending = detail::run_until(std::move(work), stop);
    co_return co_await std::move(pending);
  } else {
    std::optional<T> value;
    auto stored = detail::store(std::move(work), value);
    auto pending = detail::run_until(std::move(stored), stop);
    co_await std::move(pending);
    co_return std::move(value);
  }
}

}  // namespace sbx::async
