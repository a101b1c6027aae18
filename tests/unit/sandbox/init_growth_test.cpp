// Many commands, one after another and from several threads: nothing grows, nothing is left, no strand is left either.
#include <dirent.h>

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "tests/unit/sandbox/init_fixture.hpp"

using namespace sbx;
using namespace sbx::sandbox;
using namespace sbx::sandbox::test;

namespace {

int count_descriptors(pid_t pid) {
  int count = 0;
  const std::unique_ptr<DIR, int (*)(DIR*)> all(::opendir(("/proc/" + std::to_string(pid) + "/fd").c_str()),
                                                ::closedir);
  while (all && ::readdir(all.get())) ++count;
  return count;
}

long resident_kib(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("VmRSS:")) return std::atol(line.c_str() + 6);
  return -1;
}

int commands_wanted() {
  const char* wanted = std::getenv("SBX_COMMANDS");  // the full measure: 10000
  return wanted ? std::atoi(wanted) : 600;
}

spawn_request request_for(std::vector<std::string> argv) {
  spawn_request request;
  request.argv = std::move(argv);
  request.env = run::default_env();
  request.cwd = "/";
  for (auto* fd : {&request.stdin_fd, &request.stdout_fd, &request.stderr_fd})
    fd->reset(::open("/dev/null", O_RDWR | O_CLOEXEC));
  return request;
}

async::task<void> run_true(init_link& link, async::strand strand) {
  auto opening = link.open_leash(strand);
  auto rope = co_await std::move(opening);
  REQUIRE(rope);
  auto spawning = (*rope)->spawn(request_for({"true"}));
  const auto started = co_await std::move(spawning);
  REQUIRE(started);
  auto exiting = (*rope)->wait_exited();
  const auto end = co_await std::move(exiting);
  CHECK(end.wait_status == 0);
}

// One of several ways through a command's life, chosen by `way`.
async::task<void> run_some(init_link& link, async::strand strand, int way) {
  auto opening = link.open_leash(strand);
  auto rope = co_await std::move(opening);
  if (!rope || way == 0) co_return;
  auto spawning = (*rope)->spawn(
      request_for(way == 1 ? std::vector<std::string>{"/no/such"} : std::vector<std::string>{"sleep", "0.01"}));
  if (way == 2) {  // cancelled in the midst
    auto limited = async::with_deadline(std::move(spawning), 300us);
    co_await std::move(limited);
    co_return;
  }
  const auto started = co_await std::move(spawning);
  if (!started) co_return;
  if (way == 3) (*rope)->end();
  if (way == 4) (*rope)->signal(SIGTERM, signal_target::tree);
  if (way == 5) {
    auto counting = (*rope)->survivors();
    co_await std::move(counting);
  }
  auto closing = (*rope)->wait_closed();
  co_await std::move(closing);
}

}  // namespace

TEST_CASE("init: thousands of commands leave no descriptor, process or memory behind") {
  real_init init;
  const auto many = [](real_init& in, int count) -> async::task<bool> {
    for (int i = 0; i < count; ++i) {
      auto one = run_true(*in.link, in.strand);
      co_await std::move(one);
    }
    co_return true;
  };
  const auto batches = [&](int count) {
    for (; count > 0; count -= 200) {
      wait_for(init.context, async::on(asio::any_io_executor(init.strand), many(init, std::min(count, 200))));
    }
    init.context.restart();
    init.context.run_for(200ms);
  };
  batches(200);
  const pid_t pid = init.child.pid;
  const int own_before = count_descriptors(::getpid()), inits_before = count_descriptors(pid);
  const long resident_before = resident_kib(pid);
  batches(commands_wanted());
  CHECK(count_descriptors(::getpid()) <= own_before + 2);
  CHECK(count_descriptors(pid) <= inits_before + 2);
  CHECK(resident_kib(pid) <= resident_before + 64);
  CHECK(resident_kib(pid) < 1024);
  const auto listed = wait_for(init.context, init.link->processes());
  REQUIRE(listed);
  CHECK(listed->empty());
}

TEST_CASE("init link: commands on many strands and four threads, cut short at every point") {
  real_init init;
  const int descriptors = count_descriptors(::getpid());
  {
    async::task_group group(init.context.get_executor());
    std::atomic<int> left = commands_wanted() / 2;
    const auto worker = [](real_init& in, std::atomic<int>& left_) -> async::task<void> {
      for (int i; (i = left_--) > 0;) {
        const async::strand strand(in.context.get_executor());
        auto one = run_some(*in.link, strand, i % 7);
        auto pending = async::on(asio::any_io_executor(strand), std::move(one));
        co_await std::move(pending);
      }
    };
    for (int i = 0; i < 16; ++i) group.spawn("a worker", worker(init, left));
    const auto work = asio::make_work_guard(init.context);
    init.context.restart();
    std::vector<std::thread> threads;
    std::atomic<bool> stop = false;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        while (!stop) init.context.run_for(20ms);
      });
    const auto limit = std::chrono::steady_clock::now() + 60s;
    while (group.size() > 0 && std::chrono::steady_clock::now() < limit) std::this_thread::sleep_for(5ms);
    CHECK(group.size() == 0);
    stop = true;
    for (auto& thread : threads) thread.join();
  }
  CHECK_MESSAGE(init.link->alive(), init.link->dead_because());
  init.context.restart();
  init.context.run_for(300ms);
  CHECK(count_descriptors(::getpid()) <= descriptors + 4);
}
