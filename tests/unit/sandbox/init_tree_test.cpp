// Trees: what a command leaves behind, how it is signalled and ended, and what it can't do to those who watch it.
#include <dirent.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "tests/unit/sandbox/init_fixture.hpp"

using namespace sbx;
using namespace sbx::sandbox;
using namespace sbx::sandbox::test;

namespace {

std::string unique_marker() {
  static int count = 0;
  return "SBX_MARK=" + std::to_string(::getpid()) + "_" + std::to_string(++count);
}

// Processes whose environment holds the marker.
std::vector<pid_t> marked(const std::string& marker) {
  std::vector<pid_t> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> all(::opendir("/proc"), ::closedir);
  while (const dirent* entry = ::readdir(all.get())) {
    const pid_t pid = std::atoi(entry->d_name);
    if (pid <= 0) continue;
    std::ifstream file("/proc/" + std::to_string(pid) + "/environ");
    std::stringstream text;
    text << file.rdbuf();
    if (text.str().find(marker) != std::string::npos) found.push_back(pid);
  }
  return found;
}

run marked_run(real_init& init, const std::string& marker, std::string line) {
  return run(init, run::shell(std::move(line)), {"PATH=/usr/local/bin:/usr/bin:/bin", marker});
}

void wait_for_line(run& command) {
  char byte = 0;
  while (::read(command.output.get(), &byte, 1) == 1 && byte != '\n') {
  }
}

std::chrono::milliseconds since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin);
}

}  // namespace

TEST_CASE("init: the leader's end is told while its survivors live on") {
  real_init init;
  const auto marker = unique_marker();
  auto command = marked_run(init, marker, "sleep 100 & setsid sleep 100 & echo hi");
  const auto begin = std::chrono::steady_clock::now();
  REQUIRE(command.start());
  CHECK(WEXITSTATUS(command.wait_exited().wait_status) == 0);
  CHECK(since(begin) < 2s);
  CHECK(command.survivors() == 2);
  CHECK(command.members().size() == 2);
  CHECK(marked(marker).size() == 2);
  command.end();
  command.wait_closed();
  CHECK(marked(marker).empty());
}

TEST_CASE("init: ending a tree reaches sessions, double forks, stopped processes and those that ignore TERM") {
  real_init init;
  const auto marker = unique_marker();
  auto command = marked_run(
      init, marker,
      "trap '' TERM INT HUP; setsid sleep 100 & (setsid bash -c 'sleep 100 & sleep 100' &) ; "
      "sleep 100 & kill -STOP $!; (trap '' TERM; sleep 100; sleep 100) & echo up; while :; do sleep 1; done");
  REQUIRE(command.start());
  wait_for_line(command);
  const auto give_up = std::chrono::steady_clock::now() + 10s;
  while (command.members().size() < 8 && std::chrono::steady_clock::now() < give_up) {
  }
  CHECK(command.members().size() >= 8);
  command.end();
  command.wait_closed();
  CHECK(marked(marker).empty());
  const auto end = command.wait_exited();
  CHECK(WTERMSIG(end.wait_status) == SIGKILL);
  CHECK_FALSE(end.lost);
}

TEST_CASE("init: letting go of a leash ends its tree") {
  real_init init;
  const auto marker = unique_marker();
  auto command = marked_run(init, marker, "setsid sleep 100 & echo up; sleep 100");
  REQUIRE(command.start());
  wait_for_line(command);
  command.rope.reset();
  init.context.restart();
  for (int i = 0; i < 200 && !marked(marker).empty(); ++i) init.context.run_for(20ms);
  CHECK(marked(marker).empty());
}

TEST_CASE("init: fork storms that outrun one pass are ended") {
  real_init init;
  for (const char* storm : {// grows, every process in a session of its own
                            "f() { setsid bash -c 'for i in 1 2 3; do sleep 60 & done; sleep 0.01' & }; echo up; for n "
                            "in $(seq 60); do f; done; sleep 60",
                            // one that hops: each process forks the next and ends
                            "hop() { (hop &) ; }; echo up; h() { while :; do (sleep 0.001 &) & done; }; h",
                            // a chain that renews itself whenever its parent dies
                            "export C='(sleep 0.002; setsid bash -c \"$C\") & setsid bash -c \"sleep 5\" & sleep "
                            "0.004'; echo up; bash -c \"$C\"; sleep 60"}) {
    CAPTURE(storm);
    const auto marker = unique_marker();
    auto command = marked_run(init, marker, std::string("ulimit -u 4000; ") + storm);
    REQUIRE(command.start());
    wait_for_line(command);
    init.context.restart();
    init.context.run_for(300ms);
    command.end();
    command.wait_closed();
    CHECK(marked(marker).empty());
  }
}

TEST_CASE("init: signals reach the whole tree, or the leader alone") {
  real_init init;
  const auto marker = unique_marker();
  auto command = marked_run(init, marker,
                            "trap 'echo leader; exit 3' TERM; setsid bash -c 'trap \"echo child; exit\" TERM; echo up; "
                            "while :; do sleep 0.05; done' & "
                            "while :; do sleep 0.05; done");
  REQUIRE(command.start());
  wait_for_line(command);
  command.signal(SIGTERM, signal_target::tree);
  const auto end = command.wait_exited();
  CHECK(WEXITSTATUS(end.wait_status) == 3);
  command.wait_closed();
  const auto text = read_all(command.output);
  CHECK(text.find("leader") != std::string::npos);
  CHECK(text.find("child") != std::string::npos);

  auto alone = marked_run(init, marker, "trap 'exit 4' USR1; setsid sleep 100 & echo up; while :; do sleep 0.05; done");
  REQUIRE(alone.start());
  wait_for_line(alone);
  alone.signal(SIGUSR1, signal_target::leader);
  CHECK(WEXITSTATUS(alone.wait_exited().wait_status) == 4);
  CHECK(alone.survivors() == 1);
  alone.end();
  alone.wait_closed();
}

TEST_CASE("init: TERM ends a command without a handler, and a stopped one") {
  real_init init;
  run plain(init, {"sleep", "100"});
  REQUIRE(plain.start());
  plain.signal(SIGTERM, signal_target::tree);
  CHECK(WTERMSIG(plain.wait_exited().wait_status) == SIGTERM);
  run stopped(init, run::shell("kill -STOP $$"));
  REQUIRE(stopped.start());
  stopped.signal(SIGTERM, signal_target::tree);
  CHECK(WTERMSIG(stopped.wait_exited().wait_status) == SIGTERM);
}

TEST_CASE("init: a command that kills or stops its anchor gets an honest end, and nothing is left") {
  real_init init;
  const auto marker = unique_marker();
  auto killer = marked_run(init, marker, "setsid sleep 100 & sleep 0.05; kill -9 $PPID; sleep 100");
  REQUIRE(killer.start());
  const auto end = killer.wait_exited();
  CHECK_FALSE(end.lost);
  CHECK(WIFSIGNALED(end.wait_status));
  killer.wait_closed();
  CHECK(marked(marker).empty());

  auto exits = marked_run(init, marker, "kill -9 $PPID; exit 7");
  REQUIRE(exits.start());
  const auto exit_end = exits.wait_exited();
  CHECK((WIFSIGNALED(exit_end.wait_status) || WEXITSTATUS(exit_end.wait_status) == 7));
  exits.wait_closed();

  auto stopper = marked_run(init, marker, "kill -STOP $PPID; exit 5");
  const auto begin = std::chrono::steady_clock::now();
  REQUIRE(stopper.start());
  CHECK(WEXITSTATUS(stopper.wait_exited().wait_status) == 5);
  stopper.wait_closed();
  CHECK(since(begin) < 2s);

  auto tireless =
      marked_run(init, marker, "A=$PPID; setsid bash -c \"echo up; while :; do kill -STOP $A; done\" & sleep 100");
  REQUIRE(tireless.start());
  wait_for_line(tireless);
  tireless.end();
  tireless.wait_closed();
  CHECK(marked(marker).empty());

  run next(init, {"echo", "next"});
  CHECK(next.output_of() == "next\n");
}

TEST_CASE("init: killing what waits ahead for the next command costs that command nothing") {
  real_init init;
  const pid_t self = init.child.pid;
  for (int round = 0; round < 10; ++round) {
    run warm(init, {"true"});
    REQUIRE(warm.start());
    warm.wait_exited();
    warm.rope.reset();
    init.context.restart();
    init.context.run_for(20ms);
    // Spares are named like init; a killer in the sandbox would find them the same way.
    run killer(init, run::shell("for p in $(pgrep -P " + std::to_string(self) +
                                "); do pkill -9 -P $p sbx- ; [ $p != $PPID ] && kill -" +
                                (round % 2 == 0 ? "9" : "STOP") + " $p; done; true"));
    REQUIRE(killer.start());
    killer.wait_exited();
    killer.wait_closed();
    run next(init, {"echo", "next"});
    CHECK(next.output_of() == "next\n");
  }
}

TEST_CASE("init: its processes are listed with the leader they descend from") {
  real_init init;
  run command(init, run::shell("sleep 100 & setsid sleep 100 & echo up; wait"));
  const auto pid = command.start();
  REQUIRE(pid);
  wait_for_line(command);
  const auto listed = wait_for(init.context, init.link->processes());
  REQUIRE(listed);
  CHECK(listed->size() == 3);
  for (const auto& process : *listed) CHECK(process.leader == *pid);
}

TEST_CASE("init: a storm of signals and questions is taken in order and harms nothing") {
  real_init init;
  run command(init, run::shell("trap '' USR1; setsid sleep 100 & echo up; while :; do sleep 0.05; done"));
  REQUIRE(command.start());
  wait_for_line(command);
  for (int i = 0; i < 2000; ++i) command.rope->signal(SIGUSR1, signal_target::leader);
  async::task_group group(init.strand);
  int answers = 0;
  const auto ask = [](real_init& in, int& answers_) -> async::task<void> {
    auto asking = in.link->processes();
    const auto listed = co_await std::move(asking);
    CHECK(listed);
    answers_ += listed && listed->size() >= 2;
  };
  for (int i = 0; i < 1000; ++i) group.spawn("asking", ask(init, answers));
  wait_for(init.context, group.join());
  CHECK(answers == 1000);
  CHECK(command.survivors() >= 1);
  command.end();
  command.wait_closed();
  CHECK(init.link->alive());
}

TEST_CASE("init: when the daemon's end is closed nothing of it is left") {
  const auto marker = unique_marker();
  real_init init;
  auto command = marked_run(init, marker, "trap '' TERM; setsid sleep 100 & (setsid sleep 100 &); echo up; sleep 100");
  REQUIRE(command.start());
  wait_for_line(command);
  init.link->end();
  wait_for(init.context, init.link->wait_dead());
  CHECK(init.init_ended(5000));
  CHECK(marked(marker).empty());
  init.link->confirm_gone();
  command.wait_closed();
  CHECK_FALSE(init.link->alive());
}

TEST_CASE("init: when it is killed on the host its trees end by their leashes") {
  const auto marker = unique_marker();
  real_init init;
  auto command = marked_run(init, marker, "trap '' TERM; setsid sleep 100 & echo up; sleep 100");
  REQUIRE(command.start());
  wait_for_line(command);
  ::kill(init.child.pid, SIGKILL);
  command.wait_closed();
  CHECK(marked(marker).empty());
  CHECK(init.link->dead_because() == "init ended");
  CHECK_FALSE(command.wait_exited().lost);  // the anchor outlived init and told
  const auto refused = wait_for(init.context, init.link->open_leash(init.strand));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == error_kind::sandbox_lost);
}

TEST_CASE("init: hundreds of commands at once all start and all end") {
  real_init init;
  async::task_group group(init.strand);
  int ended = 0;
  const auto one = [](real_init& in, int& ended_) -> async::task<void> {
    auto opening = in.link->open_leash(in.strand);
    auto rope = co_await std::move(opening);
    REQUIRE(rope);
    spawn_request request;
    request.argv = {"sh", "-c", "exit 3"};
    request.env = run::default_env();
    request.cwd = "/";
    for (auto* fd : {&request.stdin_fd, &request.stdout_fd, &request.stderr_fd})
      fd->reset(::open("/dev/null", O_RDWR | O_CLOEXEC));
    auto spawning = (*rope)->spawn(std::move(request));
    const auto started = co_await std::move(spawning);
    REQUIRE(started);
    auto exiting = (*rope)->wait_exited();
    const auto end = co_await std::move(exiting);
    CHECK(WEXITSTATUS(end.wait_status) == 3);
    auto closing = (*rope)->wait_closed();
    co_await std::move(closing);
    ++ended_;
  };
  for (int i = 0; i < 300; ++i) group.spawn("a command", one(init, ended));
  wait_for(init.context, group.join());
  CHECK(ended == 300);
}

TEST_CASE("init: as the first process of a namespace it outlives a command that kills all it can") {
  if (::access("/usr/bin/bwrap", X_OK) != 0) {
    MESSAGE("skipped: there is no bwrap here");
    return;
  }
  const auto marker = unique_marker();
  real_init init(link_options(), where::own_namespace);
  for (const char* line : {"kill -9 -1; sleep 100", "kill -9 $PPID; sleep 100", "kill -STOP -1; exit 5",
                           "kill -TERM -1; exit 5", "kill -9 1; kill -STOP 1; exit 5"}) {
    CAPTURE(line);
    auto command = marked_run(init, marker, std::string("setsid sleep 100 & ") + line);
    const auto started = command.start();
    REQUIRE(started);
    const auto end = command.wait_exited();
    CHECK_FALSE(end.lost);
    command.end();
    command.wait_closed();
    CHECK(marked(marker).empty());
    run next(init, {"echo", "next"});
    CHECK(next.output_of() == "next\n");
  }
  auto bystander = marked_run(init, marker, "sleep 100");
  REQUIRE(bystander.start());
  auto killer = marked_run(init, marker, "kill -9 -1");
  REQUIRE(killer.start());
  killer.wait_closed();
  CHECK(WTERMSIG(bystander.wait_exited().wait_status) == SIGKILL);
  bystander.wait_closed();
  CHECK(marked(marker).empty());
}
