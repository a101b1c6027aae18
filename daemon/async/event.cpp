#include "daemon/async/event.hpp"

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "daemon/async/waiters.hpp"

namespace sbx::async {

namespace detail {

namespace {

void complete(waiters::handler waiter, boost::system::error_code outcome) {
  auto executor = asio::get_associated_executor(waiter);
  asio::post(executor, [waiter = std::move(waiter), outcome]() mutable { std::move(waiter)(outcome); });
}

struct initiate_wait {
  initiate_wait(std::shared_ptr<waiters> on_, std::uint64_t seen_) : on(std::move(on_)), seen(seen_) {}
  void operator()(waiters::handler waiter) { on->add(seen, std::move(waiter)); }
  std::shared_ptr<waiters> on;
  std::uint64_t seen;
};

}  // namespace

void waiters::set_generation(std::uint64_t value) {
  std::unique_lock lock(mutex_);
  generation_ = value;
  wake(lock);
}

void waiters::advance() {
  std::unique_lock lock(mutex_);
  ++generation_;
  wake(lock);
}

std::uint64_t waiters::generation() const {
  const std::lock_guard lock(mutex_);
  return generation_;
}

void waiters::close() {
  std::list<entry> ended;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    ended.swap(entries_);
    calls_.clear();
  }
  for (entry& e : ended) complete(std::move(e.waiter), asio::error::operation_aborted);
}

void waiters::wake(std::unique_lock<std::mutex>& lock) {
  std::list<entry> passed;
  for (auto at = entries_.begin(); at != entries_.end();) {
    const auto next = std::next(at);
    if (at->seen < generation_) passed.splice(passed.end(), entries_, at);
    at = next;
  }
  decltype(calls_) called;
  if (generation_ > 0) called.swap(calls_);
  lock.unlock();
  for (entry& e : passed) complete(std::move(e.waiter), {});
  for (auto& [id, call] : called) call();
}

std::uint64_t waiters::call_once_set(std::function<void()> f) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return 0;
    if (generation_ == 0) {
      const std::uint64_t id = next_id_++;
      calls_.emplace_back(id, std::move(f));
      return id;
    }
  }
  f();
  return 0;
}

void waiters::forget(std::uint64_t id) {
  decltype(calls_) found;  // destroyed without the lock: what it holds may end here
  const std::lock_guard lock(mutex_);
  for (auto at = calls_.begin(); at != calls_.end(); ++at) {
    if (at->first != id) continue;
    found.splice(found.end(), calls_, at);
    return;
  }
}

void waiters::add(std::uint64_t seen, handler waiter) {
  const auto slot = asio::get_associated_cancellation_slot(waiter);
  std::unique_lock lock(mutex_);
  if (closed_ || seen < generation_) {
    const bool passed = seen < generation_;
    lock.unlock();
    complete(std::move(waiter), passed ? boost::system::error_code() : asio::error::operation_aborted);
    return;
  }
  const std::uint64_t id = next_id_++;
  // Assigned before the entry is there for others to wake: completing it clears the slot on the waiter's executor.
  if (slot.is_connected()) {
    auto on_cancel = [weak = weak_from_this(), id](asio::cancellation_type) {
      if (const auto self = weak.lock()) self->cancel(id);
    };
    asio::cancellation_slot(slot).assign(std::move(on_cancel));
  }
  entries_.emplace_back(id, seen, std::move(waiter));
}

void waiters::cancel(std::uint64_t id) {
  std::list<entry> found;
  {
    const std::lock_guard lock(mutex_);
    for (auto at = entries_.begin(); at != entries_.end(); ++at) {
      if (at->id != id) continue;
      found.splice(found.end(), entries_, at);
      break;
    }
  }
  for (entry& e : found) complete(std::move(e.waiter), asio::error::operation_aborted);
}

task<void> wait_past(std::shared_ptr<waiters> on, std::uint64_t seen) {
  if (on->generation() > seen) co_return;
  initiate_wait initiation(on, seen);
  auto pending = asio::async_initiate<const asio::use_awaitable_t<>, void(boost::system::error_code)>(
      std::move(initiation), asio::use_awaitable);
  co_await std::move(pending);
}

}  // namespace detail

event::event() : waiters_(std::make_shared<detail::waiters>()) {}
event::~event() {
  waiters_->close();
}
void event::set() {
  waiters_->set_generation(1);
}
void event::reset() {
  waiters_->set_generation(0);
}
bool event::is_set() const {
  return waiters_->generation() > 0;
}
event::subscription event::on_set(std::function<void()> f) {
  subscription made;
  made.id_ = waiters_->call_once_set(std::move(f));
  if (made.id_ != 0) made.on_ = waiters_;
  return made;
}
event::subscription::~subscription() {
  if (const auto on = on_.lock()) on->forget(id_);
}
task<void> event::wait() {
  return detail::wait_past(waiters_, 0);
}

signal::signal() : waiters_(std::make_shared<detail::waiters>()) {}
signal::~signal() {
  waiters_->close();
}
void signal::notify_all() {
  waiters_->advance();
}
std::uint64_t signal::generation() const {
  return waiters_->generation();
}
task<void> signal::wait_past(std::uint64_t seen) {
  return detail::wait_past(waiters_, seen);
}
task<void> signal::wait() {
  return detail::wait_past(waiters_, waiters_->generation());
}

}  // namespace sbx::async
