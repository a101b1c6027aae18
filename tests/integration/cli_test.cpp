// sbxctl as a person or a script uses it.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/harness/daemon.hpp"
#include "tests/support/harness/row.hpp"

using namespace sbx::test;

namespace {

struct shell {
  explicit shell(daemon_options options = {}) : host(std::move(options)), root(host.make_root()) {
    env = host.environment();
    env.push_back("CTL=" + program("sbxctl"));
    env.push_back("ROOT=" + root);
    env.push_back("BACKEND=" + backend());
  }
  // A line of bash in the root; "$CTL" is sbxctl.
  run_result line(const std::string& text, const std::string& input = {}, milliseconds limit = 30000ms) {
    return run({"bash", "-c", text}, env, input, root, limit, true);
  }
  test_daemon host;
  std::string root;
  std::vector<std::string> env;
};

}  // namespace

TEST_SUITE_BEGIN("every");

TEST_CASE("sbxctl: a workspace opened by one call is used by the next") {
  shell s;
  run_result answer = s.line("$CTL exec -- true");
  CHECK(answer.status == 125);
  CHECK(answer.err.find("sbxctl ws open .") != std::string::npos);
  REQUIRE(s.line("$CTL ws open --backend $BACKEND .").status == 0);
  answer = s.line("$CTL exec -- pwd");
  CHECK(answer.status == 0);
  CHECK(answer.out == s.root + "\n");
  CHECK(answer.err.empty());
  ::mkdir((s.root + "/deep").c_str(), 0755);
  CHECK(s.line("cd deep && $CTL exec -- pwd").out == s.root + "/deep\n");
  const json list = json::parse(s.line("$CTL --json ws ls").out, nullptr, false);
  REQUIRE(list.is_object());
  CHECK(list["workspaces"].size() == 1);
  CHECK(s.line("$CTL ws ls").out.find(s.root) != std::string::npos);
  CHECK(s.line("$CTL ws ps").status == 0);
  CHECK(s.line("$CTL ws restart").status == 0);
  CHECK(s.line("$CTL ws close").status == 0);
  CHECK(s.line("$CTL exec -- true").status == 125);
}

TEST_CASE("sbxctl exec: exits as the command did, or with a code of its own") {
  shell s;
  REQUIRE(s.line("$CTL ws open --backend $BACKEND .").status == 0);
  CHECK(s.line("$CTL exec -- sh -c 'exit 42'").status == 42);
  CHECK(s.line("$CTL exec -- sh -c 'kill -TERM $$'").status == 143);
  CHECK(s.line("$CTL exec --timeout 0.3 -- sleep 60").status == 124);
  write_file(s.root + "/plain", "x");
  CHECK(s.line("$CTL exec -- ./plain").status == 126);
  CHECK(s.line("$CTL exec -- no-such-program").status == 127);
  CHECK(s.line("$CTL --socket /tmp/sbx-no-socket exec -- true").status == 125);
  CHECK(s.line("$CTL exec -w ws-00000000000000000000000000000000 -- true").status == 125);
  CHECK(s.line("$CTL exec -e A=1 -e 'B=x y' -- sh -c 'echo $A $B'").out == "1 x y\n");
}

TEST_CASE("sbxctl exec: pipelines work, and stdin is not eaten without -i") {
  shell s;
  REQUIRE(s.line("$CTL ws open --backend $BACKEND .").status == 0);
  CHECK(s.line("seq 100000 | $CTL exec -i -- sort -n | tail -1").out == "100000\n");
  CHECK(s.line("printf 'a\\nb\\nc\\n' | while read x; do $CTL exec -- echo got $x; done").out ==
        "got a\ngot b\ngot c\n");
  CHECK(s.line("$CTL exec -- yes | head -1").out == "y\n");
  CHECK(s.line("$CTL exec -- sh -c 'echo out; echo err >&2' 2>/dev/null").out == "out\n");
  CHECK(s.line("$CTL exec -- sh -c 'echo out; echo err >&2' >/dev/null").err == "err\n");
  // Regular files on both sides are spliced, not handed over.
  CHECK(s.line("seq 100000 >in && $CTL exec -i -- cat <in >out && cmp in out && echo same").out == "same\n");
  CHECK(s.line("$CTL exec -- cat <in | wc -c").out == "0\n");
}

TEST_CASE("sbxctl exec: an interrupt reaches the command and leaves the workspace up") {
  shell s;
  REQUIRE(s.line("$CTL ws open --backend $BACKEND .").status == 0);
  const run_result answer = s.line(
      "set -m; $CTL exec -- bash -c 'trap \"echo caught; exit 3\" INT; echo >ready; while :; do sleep 0.05; done' & "
      "while ! test -e ready; do sleep 0.05; done; sleep 0.1; kill -INT $!; wait $!; echo code $?");
  CHECK(answer.out == "caught\ncode 3\n");
  const run_result stubborn = s.line(
      "set -m; rm -f ready; $CTL exec -- bash -c 'trap \"\" INT; echo >ready; while :; do sleep 0.05; done' & "
      "while ! test -e ready; do sleep 0.05; done; sleep 0.1; kill -INT $!; sleep 0.3; kill -INT $!; wait $!; echo "
      "code $?");
  CHECK(stubborn.out.find("code 0") == std::string::npos);
  CHECK(s.line("$CTL exec -- echo up").out == "up\n");
}

TEST_CASE("sbxctl exec: killed, its command's tree ends") {
  shell s;
  REQUIRE(s.line("$CTL ws open --backend $BACKEND .").status == 0);
  const std::string mark = "sbx-mark-" + random_word();
  s.line("set -m; $CTL exec -- bash -c 'bash -c \"exec -a " + mark +
         " sleep 600\" & wait' </dev/null >/dev/null 2>&1 & "
         "while ! pgrep -f '^" +
         mark + " ' >/dev/null; do sleep 0.05; done; kill -9 $!");
  CHECK(eventually([&] { return none_alive(mark); }));
}

TEST_CASE("sbxctl run: a throw-away workspace on the current directory") {
  shell s;
  write_file(s.root + "/file", "hello\n");
  const run_result answer = s.line("$CTL run --backend $BACKEND -- cat file");
  CHECK(answer.out == "hello\n");
  CHECK(answer.status == 0);
  CHECK(s.line("$CTL run --backend $BACKEND -- sh -c 'exit 9'").status == 9);
  CHECK(json::parse(s.line("$CTL --json ws ls").out)["workspaces"].empty());
}

TEST_CASE("sbxctl: the session's token is private and replaced when the daemon no longer knows it") {
  shell s;
  REQUIRE(s.line("$CTL ws open --backend $BACKEND .").status == 0);
  const run_result modes = s.line("stat -c %a $XDG_RUNTIME_DIR/sbxctl/*");
  CHECK(modes.out == "600\n");
  s.host.stop();
  const run_result none = s.line("$CTL ping");
  CHECK(none.status == 125);
  CHECK(none.err.find("sbxd") != std::string::npos);
  s.host.start();
  CHECK(s.line("$CTL ping").status == 0);
  CHECK(s.line("$CTL ws open --backend $BACKEND . && $CTL exec -- echo new").out.find("new\n") != std::string::npos);
}

TEST_CASE("sbxctl: ping, info, stats and call; errors are one sentence") {
  shell s;
  CHECK(s.line("$CTL ping").status == 0);
  CHECK(json::parse(s.line("$CTL --json info").out)["protocol"] == 1);
  CHECK(json::parse(s.line("$CTL --json stats").out)["connections"].is_number());
  CHECK(json::parse(s.line("$CTL call system.ping").out)["pong"] == true);
  const run_result bad = s.line("$CTL call system.ping '{\"x\": 1}'");
  CHECK(bad.status != 0);
  CHECK(bad.out.empty());
  CHECK(s.line("$CTL call no.such").status != 0);
  CHECK(s.line("$CTL call system.ping '{'").status != 0);
  CHECK(s.line("$CTL no-such-verb").status != 0);
  CHECK(s.line("$CTL --help").status == 0);
  CHECK(s.line("SBX_SOCKET=/tmp/sbx-none $CTL ping").status == 125);
  CHECK(s.line("$CTL info").out.find("\x1b[") == std::string::npos);
}

TEST_SUITE_END();
