#include "daemon/async/run.hpp"

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "daemon/async/task_group.hpp"

using namespace sbx::async;
using namespace std::chrono_literals;

namespace {

struct fixture {
  asio::io_context io;
  strand here{io.get_executor()}, there{io.get_executor()};
  task_group group{here};
};

task<int> give(int value, duration after) {
  co_await sleep_for(after);
  co_return value;
}
task<std::unique_ptr<int>> give_unique(const strand& expected, bool& right_strand) {
  right_strand = expected.running_in_this_thread();
  co_return std::make_unique<int>(7);
}
task<void> note_end(bool& ended) {
  struct note {
    explicit note(bool& e) : ended(e) {}
    ~note() { ended = true; }
    bool& ended;
  } n(ended);
  co_await sleep_for(1h);
}
task<int> fails() {
  co_await sleep_for(1ms);
  throw std::runtime_error("broken");
}

}  // namespace

namespace {
task<void> visit(fixture& f, bool& inside, bool& back, int& got) {
  auto pending = on<std::unique_ptr<int>>(f.there, give_unique(f.there, inside));
  const auto value = co_await std::move(pending);
  back = f.here.running_in_this_thread();
  got = *value;
}
}  // namespace

TEST_CASE("on: runs on the other strand, and comes back with the value") {
  fixture f;
  bool inside = false, back = false;
  int got = 0;
  f.group.spawn("visit", visit(f, inside, back, got));
  f.io.run();
  CHECK(inside);
  CHECK(back);
  CHECK(got == 7);
}

namespace {
task<void> stay_away(fixture& f, bool& ended) {
  co_await on(f.there, note_end(ended));
}
}  // namespace

namespace {
task<void> call_there(fixture& f, bool& inside, bool& back, int& got, bool& thrown) {
  auto ask = [&f, &inside] {
    inside = f.there.running_in_this_thread();
    return std::make_unique<int>(7);
  };
  auto pending = call_on(f.there, std::move(ask));
  got = *co_await std::move(pending);
  back = f.here.running_in_this_thread();
  auto broken = [] { throw std::runtime_error("broken"); };
  auto failing = call_on(f.there, std::move(broken));
  try {
    co_await std::move(failing);
  } catch (const std::runtime_error&) {
    thrown = true;
  }
}
}  // namespace

TEST_CASE("call_on: calls on the other strand, and comes back with the value or the failure") {
  fixture f;
  bool inside = false, back = false, thrown = false;
  int got = 0;
  f.group.spawn("caller", call_there(f, inside, back, got, thrown));
  f.io.run();
  CHECK(inside);
  CHECK(back);
  CHECK(thrown);
  CHECK(got == 7);
}

TEST_CASE("on: cancelling the caller ends the work on its own strand first") {
  fixture f;
  bool ended = false;
  f.group.spawn("stay away", stay_away(f, ended));
  f.io.run_for(5ms);
  CHECK_FALSE(ended);
  f.group.cancel();
  f.io.restart();
  f.io.run();
  CHECK(ended);
  CHECK(f.group.size() == 0);
}

namespace {
task<void> ping_pong(fixture& f, int& done) {
  for (int i = 0; i < 200; ++i) {
    auto pending = on(f.there, give(i, 0us));
    if (co_await std::move(pending) == i) ++done;
  }
}
}  // namespace

TEST_CASE("on: cancellation that crosses the end of the work harms nothing, with several threads") {
  for (int round = 0; round < 30; ++round) {
    fixture f;
    int done = 0;
    for (int i = 0; i < 4; ++i) f.group.spawn("ping pong", ping_pong(f, done));
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([&] { f.io.run(); });
    std::this_thread::sleep_for(std::chrono::microseconds(100 * round));
    f.group.cancel();
    for (std::thread& t : threads) t.join();
    CHECK(f.group.size() == 0);
  }
}

namespace {
task<void> deadlines(fixture&, std::vector<int>& log) {
  auto fast = with_deadline(give(1, 1ms), 1s);
  const auto got = co_await std::move(fast);
  log.push_back(got.value_or(-1));
  bool ended = false;
  auto slow = with_deadline(note_end(ended), 5ms);
  const bool in_time = co_await std::move(slow);
  log.push_back(in_time ? 1 : 0);
  log.push_back(ended ? 1 : 0);
  try {
    auto broken = with_deadline(fails(), 1s);
    const auto none = co_await std::move(broken);
    log.push_back(none.value_or(-1));
  } catch (const std::runtime_error&) {
    log.push_back(99);
  }
}
}  // namespace

TEST_CASE("with_deadline: a value in time, the end of what is late, and failures as they are") {
  fixture f;
  std::vector<int> log;
  f.group.spawn("deadlines", deadlines(f, log));
  f.io.run();
  const std::vector<int> expected{1, 0, 1, 99};
  CHECK(log == expected);
}

namespace {
task<void> cut(event& stop, bool& ended, bool& whole) {
  auto pending = until(stop, note_end(ended));
  whole = co_await std::move(pending);
}
task<void> cancelled_deadline(bool& ended, bool& past) {
  auto pending = with_deadline(note_end(ended), 1h);
  co_await std::move(pending);
  past = true;
}
}  // namespace

TEST_CASE("until: an event cuts the work short") {
  fixture f;
  event stop;
  bool ended = false, whole = true;
  f.group.spawn("cut", cut(stop, ended, whole));
  f.io.run_for(5ms);
  stop.set();
  f.io.restart();
  f.io.run();
  CHECK(ended);
  CHECK_FALSE(whole);
}

TEST_CASE("with_deadline: cancelling the caller cancels the work and is no time-out") {
  fixture f;
  bool ended = false, past = false;
  f.group.spawn("cancelled", cancelled_deadline(ended, past));
  f.io.run_for(5ms);
  f.group.cancel();
  f.io.restart();
  f.io.run();
  CHECK(ended);
  CHECK_FALSE(past);
}

namespace {
task<void> protect(int& got, bool& after) {
  auto pending = shielded(give(5, 20ms));
  got = co_await std::move(pending);
  co_await sleep_for(1ms);
  after = true;
}
task<void> clean_up(int& got) {
  try {
    co_await sleep_for(1h);
  } catch (const boost::system::system_error&) {
    got = -1;
  }
  co_await ignore_cancellation();
  auto pending = give(6, 1ms);
  got = co_await std::move(pending);
}
}  // namespace

TEST_CASE("shielded: the work ends in peace, the caller is cancelled after it") {
  fixture f;
  int got = 0;
  bool after = false;
  f.group.spawn("protect", protect(got, after));
  f.io.run_for(5ms);
  f.group.cancel();
  f.io.restart();
  f.io.run();
  CHECK(got == 5);
  CHECK_FALSE(after);
}

TEST_CASE("ignore_cancellation: clean-up after a cancellation may await") {
  fixture f;
  int got = 0;
  f.group.spawn("clean up", clean_up(got));
  f.io.run_for(5ms);
  f.group.cancel();
  f.io.restart();
  f.io.run();
  CHECK(got == 6);
}
