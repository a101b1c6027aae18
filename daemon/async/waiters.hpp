// What event and signal are made of: coroutines that wait for a generation to pass. Used by them alone.
#pragma once

#include <boost/asio/use_awaitable.hpp>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

#include "daemon/async/task.hpp"

namespace sbx::async::detail {

class waiters : public std::enable_shared_from_this<waiters> {
 public:
  using handler = asio::async_result<asio::use_awaitable_t<>, void(boost::system::error_code)>::handler_type;

  void set_generation(std::uint64_t value);  // wakes whoever waits to pass a lower one
  void advance();
  std::uint64_t generation() const;
  void close();  // wakes all with operation_aborted, for good

  // Calls the handler (posted to its executor) once generation() > seen, or with operation_aborted.
  void add(std::uint64_t seen, handler waiter);

  // Calls f, on the thread that does it, once generation() > 0; at once when it is so already (answers 0 then). Closing
  // forgets it.
  std::uint64_t call_once_set(std::function<void()> f);
  void forget(std::uint64_t id);

 private:
  struct entry {
    entry(std::uint64_t id_, std::uint64_t seen_, handler waiter_) : id(id_), seen(seen_), waiter(std::move(waiter_)) {}
    std::uint64_t id, seen;
    handler waiter;
  };
  void cancel(std::uint64_t id);
  void wake(std::unique_lock<std::mutex>& lock);

  mutable std::mutex mutex_;
  std::list<entry> entries_;
  std::list<std::pair<std::uint64_t, std::function<void()>>> calls_;
  std::uint64_t generation_ = 0, next_id_ = 1;
  bool closed_ = false;
};

// The coroutine keeps the waiters alive, whatever becomes of the event.
task<void> wait_past(std::shared_ptr<waiters> on, std::uint64_t seen);

}  // namespace sbx::async::detail
