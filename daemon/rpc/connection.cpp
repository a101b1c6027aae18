#include "daemon/rpc/connection.hpp"

#include <utility>

#include "daemon/async/run.hpp"

namespace sbx::rpc {

connection::connection(std::shared_ptr<services> shared, async::asio::any_io_executor strand, sys::unique_fd socket,
                       std::uint64_t number)
    : shared_(std::move(shared)),
      strand_(std::move(strand)),
      number_(number),
      channel_(strand_, std::move(socket)),
      parser_(shared_->limits.frame_bytes),
      outbox_(shared_->limits.outbox),
      calls_waiting_(shared_->limits.requests),
      running_(strand_),
      tasks_(strand_),
      io_(strand_) {}

async::task<void> connection::serve() {
  const auto self = shared_from_this();
  if (shared_->hooks.opened) shared_->hooks.opened(*this);
  io_.spawn("watching a client", watch_gone());
  auto reading = read_until_end();
  co_await std::move(reading);
  auto last_replies = wait_quiet();
  co_await std::move(last_replies);
  auto lingering = linger();
  co_await std::move(lingering);
  lose();
  auto calls_end = running_.join();
  co_await std::move(calls_end);
  tasks_.cancel();
  auto tasks_end = tasks_.join();
  co_await std::move(tasks_end);
  io_.cancel();
  auto io_end = io_.join();
  co_await std::move(io_end);
  if (shared_->hooks.closed) {
    auto told = shared_->hooks.closed(self);
    co_await std::move(told);
  }
}

void connection::drain() {
  draining_ = true;
  stop_all(stop_reason::shutdown);
  changed_.notify_all();
}

async::task<void> connection::wait_quiet() {
  for (;;) {
    const auto seen = changed_.generation();
    if (gone_ || (calls_waiting_.empty() && outbox_.empty())) co_return;
    auto pending = changed_.wait_past(seen);
    co_await std::move(pending);
  }
}

void connection::abort() {
  lose();
}

// The client is gone: nothing can be answered any more.
void connection::lose() {
  if (gone_) return;
  gone_ = true;
  outbox_.close();
  channel_.shut_both();
  stop_all(stop_reason::client_gone);
  for (auto& [id, waiting] : std::exchange(requests_, {})) waiting->answered.set();
  changed_.notify_all();
}

async::task<void> connection::watch_gone() {
  auto pending = channel_.wait_gone();
  co_await std::move(pending);
  lose();
}

}  // namespace sbx::rpc
