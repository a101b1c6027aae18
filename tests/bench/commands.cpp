#include "tests/bench/commands.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/bench/measure.hpp"
#include "tests/support/harness/daemon.hpp"

extern char** environ;

namespace sbx::bench {

using test::json;

// posix_spawn with both output streams captured, read to their end, the child reaped: the floor of running a command.
void bare_spawn(const std::vector<std::string>& argv) {
  test::pipe_ends out = test::make_pipe(), err = test::make_pipe();
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out.write.get(), 1);
  ::posix_spawn_file_actions_adddup2(&actions, err.write.get(), 2);
  std::vector<char*> words;
  for (const auto& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_t child = -1;
  if (::posix_spawn(&child, words[0], &actions, nullptr, words.data(), environ) != 0) std::abort();
  ::posix_spawn_file_actions_destroy(&actions);
  out.write.reset(), err.write.reset();
  char block[4096];
  while (out.read || err.read) {
    pollfd waits[2] = {{out.read.get(), POLLIN, 0}, {err.read.get(), POLLIN, 0}};
    ::poll(waits, 2, -1);
    if (waits[0].revents != 0 && ::read(out.read.get(), block, sizeof block) <= 0) out.read.reset();
    if (waits[1].revents != 0 && ::read(err.read.get(), block, sizeof block) <= 0) err.read.reset();
  }
  ::waitpid(child, nullptr, 0);
}

std::vector<std::string> fresh_bwrap(const std::string& root) {
  return {"/usr/bin/bwrap",
          "--unshare-all",
          "--die-with-parent",
          "--ro-bind",
          "/usr",
          "/usr",
          "--symlink",
          "usr/bin",
          "/bin",
          "--symlink",
          "usr/lib",
          "/lib",
          "--symlink",
          "usr/lib64",
          "/lib64",
          "--proc",
          "/proc",
          "--dev",
          "/dev",
          "--tmpfs",
          "/tmp",
          "--bind",
          root,
          root,
          "/bin/true"};
}

namespace {

void exec_true(test::world& w) {
  const json answer = w.run({"/bin/true"});
  if (answer["exit"]["code"] != 0) std::abort();
}

void spawning(report& table, test::world& w) {
  const auto ours = [&] { exec_true(w); };
  const auto bare = [] { bare_spawn({"/bin/true"}); };
  auto apart = take_turns(400, 2000, {ours, bare});
  table.add({"exec.run /bin/true p50, 2 ms apart / posix_spawn", us(apart[0].p50), us(apart[1].p50),
             apart[0].p50 / apart[1].p50, 1.5, " x"});
  std::vector<double> samples;
  for (int i = 0; i < 400; ++i) samples.push_back(time_us(ours));
  const quantiles tight = quantiles_of(std::move(samples));
  samples.clear();
  for (int i = 0; i < 400; ++i) samples.push_back(time_us(bare));
  const quantiles tight_bare = quantiles_of(std::move(samples));
  table.add({"the same, back to back", us(tight.p50), us(tight_bare.p50), tight.p50 / tight_bare.p50, 1.5, " x"});
  const auto argv = fresh_bwrap(w.root);
  const auto fresh = take_turns(60, 2000, {ours, [&] { bare_spawn(argv); }});
  table.add({"a fresh bwrap per command / exec.run", us(fresh[0].p50), us(fresh[1].p50), fresh[1].p50 / fresh[0].p50, 6,
             " x", true});
}

void pinging(report& table, test::world& w) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) std::abort();
  const pid_t echo = ::fork();
  if (echo == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close(pair[0]);
    char block[4096];
    for (ssize_t n = 0; (n = ::read(pair[1], block, sizeof block)) > 0;) {
      if (::write(pair[1], block, static_cast<std::size_t>(n)) != n) break;
    }
    ::_exit(0);
  }
  ::close(pair[1]);
  const std::string request = R"({"id":1,"jsonrpc":"2.0","method":"system.ping","params":{}})";
  const auto bare = [&] {
    char block[4096];
    if (::write(pair[0], request.data(), request.size()) < 0 || ::read(pair[0], block, sizeof block) <= 0) std::abort();
  };
  const auto found = take_turns(4000, 0, {[&] { w.c.call("system.ping"); }, bare});
  table.add(
      {"system.ping p50 / socketpair echo", us(found[0].p50), us(found[1].p50), found[0].p50 / found[1].p50, 4, " x"});
  ::close(pair[0]);
  ::waitpid(echo, nullptr, 0);
}

// The same producer and consumer, joined by the shell's own pipe, and by sbxctl handing its descriptor over.
void piping(report& table, test::world& w) {
  const std::string produce = "head -c 2000000000 /dev/zero", consume = " | cat >/dev/null";
  auto env = w.host.environment();
  const std::string ctl = test::program("sbxctl") + " exec -w " + w.workspace + " -- ";
  env.push_back("SBX_SOCKET=" + w.host.socket());
  const auto shell = [&](const std::string& line) {
    if (test::run({"bash", "-c", "set -o pipefail; " + line}, env, "", w.root).status != 0) std::abort();
  };
  shell(test::program("sbxctl") + " ws open " + w.root + " >/dev/null");
  const auto found = take_turns(7, 0, {[&] { shell(ctl + produce + consume); }, [&] { shell(produce + consume); }});
  table.add({"2 GB through sbxctl exec | cat / shell pipe", us(found[0].p50), us(found[1].p50),
             found[0].p50 / found[1].p50, 1.05, " x"});
}

void concurrency(report& table, test::world& w) {
  const double taken = time_us([&] {
    std::vector<int> ids;
    for (int i = 0; i < 40; ++i) {
      ids.push_back(w.c.start("exec.run", {{"workspace", w.workspace}, {"argv", {"sleep", "1"}}}));
    }
    for (const int id : ids) w.c.result(id);
  });
  table.add({"40 sleeps of 1 s at once", us(taken), "", taken / 1e6, 1.3, " s"});
}

std::int64_t private_of_descendants(pid_t pid) {
  std::int64_t sum = 0;
  for (const pid_t child : test::children_of(pid)) sum += test::private_kb(child) + private_of_descendants(child);
  return sum;
}

void memory(report& table) {
  test::test_daemon d;
  test::client c = d.connect();
  c.call("system.ping");
  ::usleep(200000);
  const auto idle = test::resident_kb(d.pid());
  table.add({"idle daemon, resident", std::to_string(idle) + " kB", "", static_cast<double>(idle) / 1024, 15, " MB"});
  const auto before = test::private_kb(d.pid());
  const int count = 8;
  for (int i = 0; i < count; ++i) {
    const json opened =
        c.call("workspace.open", {{"roots", {d.make_root("m" + std::to_string(i))}}, {"backend", "bwrap"}});
    c.call("exec.run", {{"workspace", opened["workspace"]}, {"argv", {"/bin/true"}}});
  }
  ::usleep(200000);
  const auto each = (test::private_kb(d.pid()) - before + private_of_descendants(d.pid())) / count;
  table.add({"idle workspace, memory of its own", std::to_string(each) + " kB", "", static_cast<double>(each) / 1024, 2,
             " MB"});
}

void starting(report& table, test::world& w) {
  const auto argv = fresh_bwrap(w.root);
  const auto found = take_turns(15, 2000,
                                {[&] {
                                   w.c.call("workspace.restart", {{"workspace", w.workspace}}), exec_true(w);
                                 },
                                 [&] { bare_spawn(argv); }});
  table.note("restart and first command (a cold sandbox), p50",
             us(found[0].p50) + " beside a fresh bwrap's " + us(found[1].p50));
}

}  // namespace

void measure_latency(report& table) {
  test::world w({}, {{"backend", "bwrap"}});
  for (int i = 0; i < 50; ++i) exec_true(w);
  spawning(table, w);
}

void measure_commands(report& table) {
  test::world w({}, {{"backend", "bwrap"}});
  for (int i = 0; i < 50; ++i) exec_true(w);
  spawning(table, w);
  pinging(table, w);
  piping(table, w);
  concurrency(table, w);
  starting(table, w);
  memory(table);
}

}  // namespace sbx::bench
