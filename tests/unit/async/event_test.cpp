#include "daemon/async/event.hpp"

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <memory>

#include "daemon/async/run.hpp"
#include "daemon/async/task_group.hpp"

using namespace sbx::async;
using namespace std::chrono_literals;

namespace {
task<void> wait_and_count(event& e, int& count) {
  co_await e.wait();
  ++count;
}
task<void> count_changes(signal& s, const int& value, int& seen_last) {
  for (;;) {
    const auto seen = s.generation();
    seen_last = value;
    if (value >= 3) co_return;
    co_await s.wait_past(seen);
  }
}
}  // namespace

TEST_CASE("event: wakes every waiter, and those that come later at once") {
  asio::io_context io;
  event e;
  int count = 0;
  task_group group(io.get_executor());
  group.spawn("a", wait_and_count(e, count));
  group.spawn("b", wait_and_count(e, count));
  io.poll();
  CHECK(count == 0);
  e.set();
  io.poll();
  CHECK(count == 2);
  io.restart();
  group.spawn("c", wait_and_count(e, count));
  io.poll();
  CHECK(count == 3);
  CHECK(group.size() == 0);
}

TEST_CASE("event: a cancelled waiter leaves, the others go on waiting") {
  asio::io_context io;
  event e;
  int count = 0;
  task_group cancelled(io.get_executor()), kept(io.get_executor());
  cancelled.spawn("a", wait_and_count(e, count));
  kept.spawn("b", wait_and_count(e, count));
  io.poll();
  cancelled.cancel();
  io.poll();
  CHECK(cancelled.size() == 0);
  CHECK(kept.size() == 1);
  e.set();
  io.poll();
  CHECK(count == 1);
}

TEST_CASE("event: its end ends the waiting") {
  asio::io_context io;
  int count = 0;
  task_group group(io.get_executor());
  {
    event e;
    group.spawn("a", wait_and_count(e, count));
    io.poll();
  }
  io.restart();
  io.poll();
  CHECK(group.size() == 0);
  CHECK(count == 0);
}

TEST_CASE("event: calls once when it is set, at once when it was, and not after the subscription's end") {
  event e;
  int early = 0, ended = 0, late = 0;
  const auto kept = e.on_set([&early] { ++early; });
  {
    const auto forgotten = e.on_set([&ended] { ++ended; });
  }
  CHECK(early == 0);
  e.set();
  e.set();
  const auto after = e.on_set([&late] { ++late; });
  CHECK(early == 1);
  CHECK(ended == 0);
  CHECK(late == 1);
}

TEST_CASE("event: a subscription may outlive its event") {
  int called = 0;
  auto e = std::make_unique<event>();
  const auto kept = e->on_set([&called] { ++called; });
  e.reset();
  CHECK(called == 0);
}

TEST_CASE("signal: no change is missed between the look and the wait") {
  asio::io_context io;
  signal s;
  int value = 0, seen = -1;
  task_group group(io.get_executor());
  group.spawn("a", count_changes(s, value, seen));
  for (value = 1; value <= 3; ++value) {
    s.notify_all();
    io.poll();
    CHECK(seen == value);
  }
  CHECK(group.size() == 0);
}
