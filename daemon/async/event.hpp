// Events that coroutines await. Any number of waiters, on any strands; every member may be called from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "daemon/async/task.hpp"

namespace sbx::async {

namespace detail {
class waiters;
}

// Happens once and stays: wait() answers at once after set(), until reset().
class event {
 public:
  event();
  ~event();  // whoever still waits gets operation_aborted
  event(const event&) = delete;
  event& operator=(const event&) = delete;

  void set();
  void reset();
  bool is_set() const;

  // Throws boost::system::system_error(operation_aborted) when the awaiting task is cancelled.
  task<void> wait();

  // Forgets its call when it ends; one that is being made at that moment on another thread is not waited for.
  class subscription {
   public:
    subscription() = default;
    ~subscription();
    subscription(subscription&&) = default;
    subscription& operator=(subscription&&) = delete;

   private:
    friend class event;
    std::weak_ptr<detail::waiters> on_;
    std::uint64_t id_ = 0;
  };
  // Calls f once, on the thread that sets the event, or here and now when it is set. Without a coroutine that waits and
  // must be cancelled: for what mostly never happens.
  [[nodiscard]] subscription on_set(std::function<void()> f);

 private:
  std::shared_ptr<detail::waiters> waiters_;
};

// Tells of changes, again and again. Check your condition, then wait past the generation you read before checking:
//   for (;;) { const auto seen = changed.generation(); if (condition) break; co_await changed.wait_past(seen); }
class signal {
 public:
  signal();
  ~signal();
  signal(const signal&) = delete;
  signal& operator=(const signal&) = delete;

  void notify_all();
  std::uint64_t generation() const;

  // Answers at once when notify_all was called since `seen` was read. Throws operation_aborted when cancelled.
  task<void> wait_past(std::uint64_t seen);
  // Waits for the next notify_all. Only safe when condition and notify_all live on the awaiting strand.
  task<void> wait();

 private:
  std::shared_ptr<detail::waiters> waiters_;
};

}  // namespace sbx::async
