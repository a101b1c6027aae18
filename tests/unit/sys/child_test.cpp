#include "daemon/sys/child.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sbx::sys {
namespace {

struct ended {
  int status = -1;
  std::string output;
};

ended run(child_setup setup) {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const unique_fd from(ends[0]);
  unique_fd to(ends[1]);
  setup.descriptors.emplace_back(to, 1);
  auto started = start_child(setup);
  REQUIRE(started);
  to.reset();
  ended end;
  char buffer[4096];
  for (ssize_t length; (length = ::read(from.get(), buffer, sizeof buffer)) > 0;)
    end.output.append(buffer, static_cast<std::size_t>(length));
  pollfd ready{started->pidfd.get(), POLLIN, 0};
  REQUIRE(::poll(&ready, 1, 5000) == 1);
  end.status = reap(started->pidfd).value();
  return end;
}

child_setup shell(std::string line) {
  child_setup setup;
  setup.path = "/bin/sh";
  setup.argv = {"sh", "-c", std::move(line)};
  return setup;
}

TEST_CASE("child: output, exit code, and the environment it was given alone") {
  auto setup = shell("echo $A; /usr/bin/env | wc -l; exit 7");
  setup.env = {"A=b c"};
  const auto end = run(setup);
  CHECK(WEXITSTATUS(end.status) == 7);
  CHECK(end.output.starts_with("b c\n"));
}

TEST_CASE("child: only the descriptors asked for, in any order of numbers") {
  const int leaked = ::open("/dev/null", O_RDONLY);
  const unique_fd keep_leaked(leaked), a(::open("/dev/zero", O_RDONLY | O_CLOEXEC)),
      b(::open("/dev/full", O_RDONLY | O_CLOEXEC));
  auto setup = shell("ls /proc/$$/fd | tr '\\n' ' '; readlink /proc/$$/fd/" + std::to_string(a.get()) +
                     "; readlink /proc/$$/fd/" + std::to_string(b.get()));
  setup.env = {"PATH=/usr/bin:/bin"};
  setup.descriptors = {{b, a.get()}, {a, b.get()}};
  const auto end = run(setup);
  CHECK(end.output == "0 1 2 " + std::to_string(a.get()) + " " + std::to_string(b.get()) + " /dev/full\n/dev/zero\n");
}

TEST_CASE("child: default dispositions, an empty mask, a session of its own") {
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t blocked, before;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &blocked, &before);
  auto setup = shell(
      "grep -E 'Sig(Blk|Ign)' /proc/$$/status | cut -f2; test $(cut -d' ' -f6 /proc/$$/stat) = $$ && echo leader");
  setup.env = {"PATH=/usr/bin:/bin"};
  const auto end = run(setup);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  CHECK(end.output == "0000000000000000\n0000000000000000\nleader\n");
}

TEST_CASE("child: a program that cannot be executed leaves an errno and no process") {
  child_setup setup;
  setup.path = "/nonexistent";
  setup.argv = {"x"};
  const auto started = start_child(setup);
  REQUIRE_FALSE(started);
  CHECK(started.error().number == ENOENT);
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
}

TEST_CASE("child: a killed one tells its signal") {
  const auto end = run(shell("kill -9 $$"));
  CHECK(WIFSIGNALED(end.status));
  CHECK(WTERMSIG(end.status) == SIGKILL);
}

TEST_CASE("child: programs are looked up in absolute directories only") {
  CHECK(find_program("sh", "relative:/nowhere:/bin") == "/bin/sh");
  CHECK(find_program("./x", "") == "./x");
  CHECK_FALSE(find_program("sh", ""));
  CHECK_FALSE(find_program("etc", "/"));
}

}  // namespace
}  // namespace sbx::sys
