#include "daemon/async/blocking_pool.hpp"

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <future>
#include <stdexcept>
#include <thread>

#include "daemon/async/run.hpp"
#include "daemon/async/task_group.hpp"

using namespace sbx::async;
using namespace std::chrono_literals;

namespace {

struct stuck_calls {  // jobs that block until released
  std::promise<void> promise;
  std::shared_future<void> gate{promise.get_future().share()};
  ~stuck_calls() { promise.set_value(); }
};

pool_limits quick() {
  pool_limits limits;
  limits.threads = 2;
  limits.stuck_after = 50ms;
  return limits;
}

task<void> add(blocking_pool& pool, int a, int b, int& sum) {
  auto job = [a, b](const stop_flag&) { return a + b; };
  auto pending = pool.run("k", job);
  sum = co_await std::move(pending);
}
task<void> block(blocking_pool& pool, std::string key, std::shared_future<void> gate) {
  auto job = [gate](const stop_flag&) { gate.wait(); };
  auto pending = pool.run(std::move(key), job);
  co_await std::move(pending);
}
task<void> fail(blocking_pool& pool, bool& caught) {
  auto job = [](const stop_flag&) -> int { throw std::runtime_error("broken"); };
  try {
    auto pending = pool.run("k", job);
    co_await std::move(pending);
  } catch (const std::runtime_error&) {
    caught = true;
  }
}
task<void> watch_flag(blocking_pool& pool, std::shared_ptr<std::promise<void>> seen) {
  auto job = [seen](const stop_flag& flag) {
    while (!flag.stopped()) std::this_thread::yield();
    seen->set_value();
  };
  auto pending = pool.run("k", job);
  co_await std::move(pending);
}

}  // namespace

TEST_CASE("blocking_pool: values in and out, exceptions too") {
  asio::io_context io;
  blocking_pool pool(io.get_executor());
  task_group group(io.get_executor());
  int sum = 0;
  bool caught = false;
  group.spawn("add", add(pool, 2, 3, sum));
  group.spawn("fail", fail(pool, caught));
  io.run();
  CHECK(sum == 5);
  CHECK(caught);
}

TEST_CASE("blocking_pool: stuck calls of one key delay no other") {
  asio::io_context io;
  stuck_calls stuck;
  blocking_pool pool(io.get_executor(), quick());
  task_group blocked(io.get_executor()), free(io.get_executor());
  for (int i = 0; i < 20; ++i) blocked.spawn("block", block(pool, "hung", stuck.gate));
  int sum = 0;
  free.spawn("add", add(pool, 2, 3, sum));
  const auto begin = std::chrono::steady_clock::now();
  while (free.size() != 0 && std::chrono::steady_clock::now() - begin < 5s) io.run_one_for(100ms);
  CHECK(sum == 5);
  while (pool.stats().running < 4 && std::chrono::steady_clock::now() - begin < 5s) io.run_one_for(10ms);
  CHECK(pool.stats().running == 4);
  CHECK(pool.stats().queued == 16);
  blocked.cancel();
  io.run_for(50ms);
}

TEST_CASE("blocking_pool: threads are added for stuck calls, up to the bound") {
  asio::io_context io;
  stuck_calls stuck;
  auto limits = quick();
  limits.threads_max = 6;
  blocking_pool pool(io.get_executor(), limits);
  task_group blocked(io.get_executor());
  for (int i = 0; i < 20; ++i) blocked.spawn("block", block(pool, std::to_string(i), stuck.gate));
  io.run_for(1s);
  CHECK(pool.stats().threads == 6);
  blocked.cancel();
  io.restart();
  io.run_for(50ms);
  CHECK(blocked.size() == 0);
}

TEST_CASE("blocking_pool: cancelling answers at once and tells the job") {
  asio::io_context io;
  blocking_pool pool(io.get_executor());
  task_group group(io.get_executor());
  auto seen = std::make_shared<std::promise<void>>();
  group.spawn("watch", watch_flag(pool, seen));
  io.run_for(10ms);
  group.cancel();
  io.restart();
  io.run();
  CHECK(group.size() == 0);
  CHECK(seen->get_future().wait_for(5s) == std::future_status::ready);
}

TEST_CASE("blocking_pool: its end waits for no stuck call") {
  stuck_calls stuck;
  asio::io_context io;
  task_group blocked(io.get_executor());
  const auto begin = std::chrono::steady_clock::now();
  {
    blocking_pool pool(io.get_executor(), quick());
    for (int i = 0; i < 5; ++i) blocked.spawn("block", block(pool, "hung", stuck.gate));
    io.run_for(10ms);
  }
  CHECK(std::chrono::steady_clock::now() - begin < 1s);
  blocked.cancel();
  io.restart();
  io.run();
  CHECK(blocked.size() == 0);
}
