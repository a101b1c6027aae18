// Events that coroutines await. Any number of waiters, on any strands; every member may be called from any thread.
#pragma once

#include <cstdint>
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
