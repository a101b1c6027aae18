// What a command finds when it starts, and why it does not: through a real sbx-init on the host.
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>

#include "tests/unit/sandbox/init_fixture.hpp"
#include "tests/unit/sandbox/temporary_directory.hpp"

using namespace sbx;
using namespace sbx::sandbox;
using namespace sbx::sandbox::test;

namespace {

void write_file(const std::string& path, const std::string& content, mode_t mode) {
  std::ofstream(path) << content;
  REQUIRE(::chmod(path.c_str(), mode) == 0);
}

struct refusal {
  std::string stage, reason;
  error_kind kind;
};

refusal refusal_of(run& command) {
  const auto started = command.start();
  REQUIRE_FALSE(started);
  return {detail_of(started.error(), "stage"), detail_of(started.error(), "reason"), started.error().kind};
}

void check_refusal(run command, const std::string& stage, const std::string& reason) {
  const auto got = refusal_of(command);
  CHECK(got.kind == error_kind::spawn_failed);
  CHECK(got.stage == stage);
  CHECK(got.reason == reason);
}

}  // namespace

TEST_CASE("init: a command's exit code, signal and output cross") {
  real_init init;
  run hello(init, {"echo", "hello"});
  CHECK(hello.output_of() == "hello\n");
  run code(init, run::shell("exit 137"));
  REQUIRE(code.start());
  const auto end = code.wait_exited();
  CHECK(WIFEXITED(end.wait_status));
  CHECK(WEXITSTATUS(end.wait_status) == 137);
  run killed(init, run::shell("kill -9 $$"));
  REQUIRE(killed.start());
  const auto killed_end = killed.wait_exited();
  CHECK(WIFSIGNALED(killed_end.wait_status));
  CHECK(WTERMSIG(killed_end.wait_status) == SIGKILL);
  killed.wait_closed();
  run piped(init, run::shell("set -o pipefail; yes | head -1"));
  REQUIRE(piped.start());
  CHECK(WEXITSTATUS(piped.wait_exited().wait_status) == 141);
}

TEST_CASE("init: usage counts what the leader and its children used") {
  real_init init;
  run busy(init,
           run::shell(
               "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; (i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done)"));
  REQUIRE(busy.start());
  const auto end = busy.wait_exited();
  CHECK(end.user_ms > 0);
  CHECK(end.max_rss_bytes > 500'000);
  CHECK_FALSE(end.lost);
}

TEST_CASE("init: a command starts in a session of its own with default signals and descriptors 0 to 2 alone") {
  sigset_t blocked;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGUSR1);
  ::sigprocmask(SIG_BLOCK, &blocked, nullptr);
  ::signal(SIGHUP, SIG_IGN);
  const sys::unique_fd stray(::open("/dev/null", O_RDONLY));  // inheritable
  {
    real_init init;
    run status(init, {"cat", "/proc/self/status"});
    const std::string seen = status.output_of();
    for (const auto* line :
         {"SigBlk:\t0000000000000000\n", "SigIgn:\t0000000000000000\n", "SigCgt:\t0000000000000000\n"})
      CHECK(seen.find(line) != std::string::npos);
    run descriptors(init, {"ls", "/proc/self/fd"});
    CHECK(descriptors.output_of() == "0\n1\n2\n3\n");  // 3 is ls's own
    run session(
        init,
        run::shell("read -r pid name state ppid group session rest < /proc/$$/stat; [ $session = $$ ] && echo own"));
    CHECK(session.output_of() == "own\n");
    run terminal(init, run::shell("exec 2>&1; : < /dev/tty || echo none"));
    CHECK(terminal.output_of().find("none") != std::string::npos);
  }
  ::signal(SIGHUP, SIG_DFL);
  ::sigprocmask(SIG_UNBLOCK, &blocked, nullptr);
}

TEST_CASE("init: umask and limits are what the daemon told") {
  link_options options;
  options.defaults.umask = 027;
  options.defaults.rlimits.emplace_back(RLIMIT_NOFILE, rlimit{321, 4096});
  options.defaults.rlimits.emplace_back(RLIMIT_CORE, rlimit{0, 0});
  real_init init(std::move(options));
  run told(init, run::shell("umask; ulimit -Sn; ulimit -Hn; ulimit -c"));
  CHECK(told.output_of() == "0027\n321\n4096\n0\n");
}

TEST_CASE("init: arguments and environment cross exactly, whatever bytes they are") {
  real_init init;
  run odd(init, {"printf", "%s|", "-n", "--", "a\nb", "\xff\xfe", ""}, {"PATH=/usr/bin:/bin"});
  CHECK(odd.output_of() == "-n|--|a\nb|\xff\xfe||");
  run env(init, {"/usr/bin/env"}, {"A=1\n2", "B=\xff", "-C=x"});
  CHECK(env.output_of() == "A=1\n2\nB=\xff\n-C=x\n");
}

TEST_CASE("init: argument strings up to the kernel's limit pass, one byte more is too big") {
  real_init init;
  run longest(init, {"sh", "-c", "echo ${#1}", "sh", std::string(131'071, 'x')});
  CHECK(longest.output_of() == "131071\n");
  check_refusal(run(init, {"sh", "-c", ":", "sh", std::string(131'072, 'x')}), "exec", "too_big");
  std::vector<std::string> many = {"sh", "-c", "echo $#", "sh"};
  for (int i = 0; i < 10; ++i) many.emplace_back(120'000, 'y');
  run megabyte(init, many);
  CHECK(megabyte.output_of() == "10\n");
  run thousands(init, {"sh", "-c", "echo $#", "sh"});
  for (int i = 0; i < 20'000; ++i) thousands.request.argv.emplace_back("z");
  CHECK(thousands.output_of() == "20000\n");
  run enormous(init, {"true"});
  for (int i = 0; i < 100; ++i) enormous.request.argv.emplace_back(100'000, 'w');
  const auto got = refusal_of(enormous);
  CHECK(got.reason == "too_big");
}

TEST_CASE("init: each way a program can fail to start has its own reason") {
  real_init init;
  const temporary_directory place;
  const std::string base = place.path();
  write_file(base + "/plain", "echo\n", 0644);
  write_file(base + "/no_interpreter", "#!/nonexistent/sh\n", 0755);
  write_file(base + "/dead_interpreter", "#!" + base + "/plain\n", 0755);
  write_file(base + "/no_format", "echo hi\n", 0755);
  write_file(base + "/empty", "", 0755);
  check_refusal(run(init, {"no-such-program"}), "exec", "not_found");
  check_refusal(run(init, {"/no/such/program"}), "exec", "not_found");
  check_refusal(run(init, {""}), "exec", "not_found");
  check_refusal(run(init, {base + "/plain"}), "exec", "not_executable");
  check_refusal(run(init, {base}), "exec", "not_executable");
  check_refusal(run(init, {"plain"}, {"PATH=/usr/bin:" + base}), "exec", "not_executable");
  check_refusal(run(init, {base + "/no_interpreter"}), "exec", "bad_interpreter");
  check_refusal(run(init, {base + "/dead_interpreter"}), "exec", "bad_interpreter");
  check_refusal(run(init, {base + "/no_format"}), "exec", "bad_format");
  check_refusal(run(init, {base + "/empty"}), "exec", "bad_format");
  check_refusal(run(init, {"no_format"}, {"PATH=" + base}), "exec", "bad_format");
  run next(init, {"echo", "fine"});
  CHECK(next.output_of() == "fine\n");
}

TEST_CASE("init: argv[0] is looked up in the command's own PATH") {
  real_init init;
  const temporary_directory place;
  ::mkdir((place.path().string() + "/a").c_str(), 0755);
  ::mkdir((place.path().string() + "/b").c_str(), 0755);
  write_file(place.path().string() + "/a/tool", "#!/bin/sh\necho a\n", 0644);
  write_file(place.path().string() + "/b/tool", "#!/bin/sh\necho b\n", 0755);
  run found(init, {"tool"}, {"PATH=/nonexistent:" + place.path().string() + "/a:" + place.path().string() + "/b"});
  CHECK(found.output_of() == "b\n");
  run here(init, {"tool"}, {"PATH="});
  here.request.cwd = place.path().string() + "/b";
  CHECK(here.output_of() == "b\n");
}

TEST_CASE("init: the working directory stays beneath its roots, links inside them followed") {
  real_init init;
  const temporary_directory place;
  const std::string root = place.path().string() + "/root", other = place.path().string() + "/other",
                    outside = place.path().string() + "/root-sibling";
  for (const auto& path : {root, other, outside, root + "/sub", root + "/sub/deep", other + "/in"})
    REQUIRE(::mkdir(path.c_str(), 0755) == 0);
  write_file(root + "/file", "", 0644);
  const auto link = [&](const std::string& target, const std::string& name) {
    REQUIRE(::symlink(target.c_str(), (root + "/" + name).c_str()) == 0);
  };
  link("sub/deep", "relative");
  link(root + "/sub", "absolute");
  link(other + "/in", "across");
  link(outside, "escape");
  link("../root-sibling", "dots");
  link("/nonexistent", "nowhere");
  link("missing", "dangling");
  link("loop", "loop");
  link("absolute/deep/..", "winding");
  const auto in = [&](const std::string& cwd) {
    run command(init, {"pwd", "-P"});
    command.request.cwd_roots = {root, other};
    command.request.cwd = cwd;
    return command;
  };
  const auto lands = [&](const std::string& cwd) { return in(cwd).output_of(); };
  CHECK(lands(root) == root + "\n");
  CHECK(lands(root + "/sub//deep/./..") == root + "/sub\n");
  CHECK(lands(root + "/relative") == root + "/sub/deep\n");
  CHECK(lands(root + "/absolute/deep") == root + "/sub/deep\n");
  CHECK(lands(root + "/across") == other + "/in\n");
  CHECK(lands(root + "/winding") == root + "/sub\n");
  for (const auto& cwd : {root + "/escape", root + "/dots", root + "/nowhere", root + "/..", root + "/../other",
                          outside, std::string("/"), root + "/absolute/../../../x"}) {
    CAPTURE(cwd);
    auto command = in(cwd);
    CHECK(refusal_of(command).kind == error_kind::denied);
  }
  for (const auto& cwd : {root + "/file", root + "/missing", root + "/dangling", root + "/loop", root + "/file/x"}) {
    CAPTURE(cwd);
    check_refusal(in(cwd), "cwd", "bad_cwd");
  }
}

TEST_CASE("init: further descriptors become 3, 4 and so on") {
  real_init init;
  run command(init, run::shell("echo three >&3; echo five >&5; ls /proc/$$/fd | tr '\\n' ' '"));
  sys::unique_fd ends[3];
  for (auto& end : ends) {
    int made[2];
    REQUIRE(::pipe2(made, O_CLOEXEC) == 0);
    end.reset(made[0]);
    command.request.extra_fds.emplace_back(made[1]);
  }
  CHECK(command.output_of().starts_with("0 1 2 3 4 5"));
  CHECK(read_all(ends[0]) == "three\n");
  CHECK(read_all(ends[2]) == "five\n");
}

TEST_CASE("init: one that cannot start leaves its descriptors closed and the leash usable") {
  real_init init;
  run command(init, {"/no/such/program"});
  REQUIRE_FALSE(command.start());
  CHECK(read_all(command.output).empty());  // end-of-file: nobody holds the other end
  CHECK(command.members().empty());
}
