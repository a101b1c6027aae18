#include "daemon/async/task_group.hpp"

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <stdexcept>
#include <string>

#include "daemon/async/event.hpp"
#include "daemon/async/run.hpp"

using namespace sbx::async;
using namespace std::chrono_literals;

namespace {
struct on_destruction {
  explicit on_destruction(int& count_) : count(count_) {}
  ~on_destruction() { ++count; }
  int& count;
};
task<void> forever(int& ended) {
  const on_destruction note(ended);
  co_await sleep_for(1h);
}
task<void> throws() {
  co_await sleep_for(1ms);
  throw std::runtime_error("broken");
}
task<void> join_then(task_group& group, bool& joined) {
  co_await group.join();
  joined = true;
}
}  // namespace

TEST_CASE("task_group: cancel ends every task and join tells of it") {
  asio::io_context io;
  int ended = 0;
  bool joined = false;
  task_group group(io.get_executor()), other(io.get_executor());
  for (int i = 0; i < 10; ++i) group.spawn("forever", forever(ended));
  other.spawn("join", join_then(group, joined));
  io.poll();
  CHECK(group.size() == 10);
  CHECK_FALSE(joined);
  group.cancel();
  io.run();
  CHECK(ended == 10);
  CHECK(joined);
}

TEST_CASE("task_group: a failure reaches the sink with the task's name, a cancellation does not") {
  asio::io_context io;
  std::string told;
  int ended = 0;
  auto sink = [&](std::string_view what, std::exception_ptr failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& e) {
      told += std::string(what) + ": " + e.what();
    }
  };
  task_group group(io.get_executor(), sink);
  group.spawn("thrower", throws());
  group.spawn("forever", forever(ended));
  io.run_for(20ms);
  group.cancel();
  io.restart();
  io.run();
  CHECK(told == "thrower: broken");
  CHECK(ended == 1);
}

TEST_CASE("task_group: nothing starts after cancel") {
  asio::io_context io;
  int ended = 0;
  task_group group(io.get_executor());
  group.cancel();
  group.spawn("late", forever(ended));
  io.run();
  CHECK(group.size() == 0);
  CHECK(ended == 0);
}

TEST_CASE("task_group: destroying it cancels what runs") {
  asio::io_context io;
  int ended = 0;
  {
    task_group group(io.get_executor());
    group.spawn("forever", forever(ended));
    io.poll();
  }
  io.restart();
  io.run();
  CHECK(ended == 1);
}

TEST_CASE("task_group: one task can be cancelled alone, before or after its end too") {
  asio::io_context io;
  int ended = 0;
  task_group group(io.get_executor());
  const auto first = group.spawn("first", forever(ended));
  group.spawn("second", forever(ended));
  io.poll();
  first.cancel();
  io.poll();
  CHECK(ended == 1);
  CHECK(group.size() == 1);
  first.cancel();
  group.cancel();
  io.run();
  first.cancel();
  CHECK(ended == 2);
}
