// Terminals and shells: real ones, that end when closed and lose nothing.
#include <doctest/doctest.h>

#include <sstream>
#include <thread>

#include "tests/support/harness/daemon.hpp"
#include "tests/support/harness/row.hpp"

using namespace sbx::test;

namespace {

struct terminals : world {
  using world::world;
  std::string begin(const std::string& command, json more = json::object()) {
    more["workspace"] = workspace;
    more["command"] = command;
    return c.call("pty.open", std::move(more)).at("pty");
  }
  // All it has written until it ended.
  std::string whole(const std::string& pty) {
    std::string text;
    std::int64_t offset = 0;
    const auto end = clock::now() + 20s;
    while (true) {
      REQUIRE(clock::now() < end);
      const json got = c.call("pty.read", {{"pty", pty}, {"offset", offset}, {"wait_ms", 2000}});
      CHECK(got["lost_bytes"] == 0);
      text += bytes_of(got);
      offset = got["next_offset"];
      if (got["eof"] == true) return text;
    }
  }
  // Reads until `wanted` shows up.
  std::string until(const std::string& pty, const std::string& wanted) {
    std::string text;
    std::int64_t offset = 0;
    const auto end = clock::now() + 15s;
    while (text.find(wanted) == std::string::npos) {
      REQUIRE_MESSAGE(clock::now() < end, "waiting for " << wanted << " in " << text);
      const json got = c.call("pty.read", {{"pty", pty}, {"offset", offset}, {"wait_ms", 500}});
      text += bytes_of(got);
      offset = got["next_offset"];
      REQUIRE_MESSAGE((got["eof"] == false || text.find(wanted) != std::string::npos), text);
    }
    return text;
  }
  void write(const std::string& pty, const std::string& data) { c.call("pty.write", {{"pty", pty}, {"data", data}}); }
};

struct shells : world {
  explicit shells(daemon_options options = {}) : world(std::move(options)) {
    shell = c.call("shell.open", {{"workspace", workspace}})["shell"];
  }
  json line(const std::string& command, json more = json::object()) {
    more["shell"] = shell;
    more["command"] = command;
    return c.call("shell.run", std::move(more), {}, 30000ms);
  }
  std::string shell;
};

}  // namespace

TEST_SUITE_BEGIN("every");

TEST_CASE("pty: a real terminal of the asked size, controlling, with a name") {
  terminals w;
  const std::string pty = w.begin(
      "tty; stty size </dev/tty; echo $TERM; test -t 0 && test -t 1 && test -t 2 && echo yes; stty -a </dev/tty | grep "
      "-c speed",
      {{"rows", 33}, {"cols", 101}});
  CHECK(pty.rfind("pty-", 0) == 0);
  const std::string text = w.whole(pty);
  CHECK(text.find("/dev/pts/") == 0);
  CHECK(text.find("33 101\r\nxterm-256color\r\nyes\r\n1\r\n") != std::string::npos);
  CHECK(w.c.call("pty.wait", {{"pty", pty}})["exit"]["code"] == 0);
}

TEST_CASE("pty: input, echo, interrupt, resize and hang-up") {
  terminals w;
  const std::string pty = w.begin(
      "trap 'stty size </dev/tty' WINCH; trap 'echo INT' INT; echo ready; while read -r x; do echo \"got $x\"; done; "
      "while :; do sleep 0.1; done");
  w.until(pty, "ready");
  w.write(pty, "hello\r");
  w.until(pty, "got hello");
  w.c.call("pty.resize", {{"pty", pty}, {"rows", 50}, {"cols", 90}});
  w.write(pty, "x\r");
  w.until(pty, "50 90");
  w.write(pty, "\x03");
  w.until(pty, "INT");
  CHECK(w.c.kind("pty.resize", {{"pty", pty}, {"rows", 0}, {"cols", 90}}) == "invalid_params");
  CHECK(w.c.kind("pty.resize", {{"pty", pty}, {"rows", 5}, {"cols", 65536}}) == "invalid_params");
  w.c.call("pty.close", {{"pty", pty}});
  CHECK(w.c.kind("pty.read", {{"pty", pty}}) == "no_such_handle");
}

TEST_CASE("pty: closing ends the whole tree, whatever it ignores") {
  terminals w;
  const std::string mark = "sbx-mark-" + random_word();
  const std::string pty =
      w.begin("trap '' HUP TERM; " + stubborn_tree(mark, "while :; do sleep 0.1; done"), {{"grace_ms", 200}});
  await_marked(mark, 4);
  w.c.call("pty.close", {{"pty", pty}});
  CHECK(none_alive(mark));
}

TEST_CASE("pty: every byte is there when it has ended, many times over") {
  terminals w;
  for (int i = 0; i < 60; ++i) {
    const std::string pty = w.begin("head -c 100000 /dev/zero | tr '\\0' x; printf END");
    const std::string text = w.whole(pty);
    CHECK(text.size() == 100003);
    CHECK(text.substr(text.size() - 3) == "END");
  }
}

TEST_CASE("pty: the exit code and signal can be asked long after") {
  terminals w;
  const std::string first = w.begin("exit 7"), second = w.begin("kill -KILL $$");
  w.c.call("pty.wait", {{"pty", first}});
  w.c.call("pty.wait", {{"pty", second}});
  std::this_thread::sleep_for(300ms);
  CHECK(w.c.call("pty.wait", {{"pty", first}})["exit"]["code"] == 7);
  CHECK(w.c.call("pty.wait", {{"pty", second}})["exit"]["signal"] == "SIGKILL");
}

TEST_CASE("pty: a write nobody reads is taken partly and does not hang") {
  terminals w;
  const std::string pty = w.begin("stty raw -echo; echo ready; sleep 600");
  w.until(pty, "ready");
  const auto start = clock::now();
  const json taken = w.c.call("pty.write", {{"pty", pty}, {"data", std::string(1 << 20, 'x')}});
  CHECK(since_ms(start) < 2000);
  CHECK(taken["accepted_bytes"].get<int>() < 1 << 20);
  CHECK(w.c.call("system.ping")["pong"] == true);
}

TEST_CASE("pty: a child that closes its terminal and lives on costs no processor time") {
  terminals w;
  const std::string pty = w.begin("exec </dev/null >/dev/null 2>&1; sleep 3");
  std::this_thread::sleep_for(300ms);
  const auto ticks = [&] {
    const std::string stat = read_file("/proc/" + std::to_string(w.host.pid()) + "/stat");
    std::istringstream fields(stat.substr(stat.rfind(')') + 2));
    std::string word;
    long user = 0, system = 0;
    for (int i = 0; i < 11; ++i) fields >> word;
    fields >> user >> system;
    return user + system;
  };
  const long before = ticks();
  std::this_thread::sleep_for(1000ms);
  CHECK(ticks() - before < 10);
  CHECK(w.c.call("pty.wait", {{"pty", pty}})["exit"]["code"] == 0);
}

TEST_CASE("pty: an interactive bash has job control and no complaint") {
  terminals w;
  const std::string pty = w.begin("exec bash --norc -i", {{"env", {{"PS1", "$ "}}}});
  w.write(pty, "echo be''gun\r");
  const std::string text = w.until(pty, "begun");
  CHECK(text.find("job control") == std::string::npos);
  w.write(pty, "sleep 300\r");
  std::this_thread::sleep_for(200ms);
  w.write(pty, "\x1a");
  w.until(pty, "Stopped");
  w.write(pty, "jobs; kill %1; wait; echo o''ver\r");
  w.until(pty, "over");
  w.write(pty, "exit 3\r");
  CHECK(w.c.call("pty.wait", {{"pty", pty}})["exit"]["code"] == 3);
}

TEST_CASE("pty: followers get output and both ends; several may follow") {
  terminals w;
  const std::string pty = w.begin("sleep 0.3; printf hi; sleep 0.1");
  client other = w.host.connect();
  other.call("session.attach", {{"session", w.c.call("session.get")["session"]}});
  w.c.call("pty.follow", {{"pty", pty}});
  other.call("pty.follow", {{"pty", pty}});
  for (client* c : {&w.c, &other}) {
    CHECK(c->notification("pty.output")["data"] == "hi");
    CHECK(c->notification("pty.exited")["exit"]["code"] == 0);
    CHECK(c->notification("pty.closed")["pty"] == pty);
  }
}

TEST_CASE("shell: directory, variables and functions persist between calls") {
  shells w;
  CHECK(w.shell.rfind("shl-", 0) == 0);
  json got = w.line("mkdir d; cd d; x=5; f() { echo \"f $1\"; }; export Y=6");
  CHECK(got["exit"]["code"] == 0);
  CHECK(got["cwd"] == w.root + "/d");
  got = w.line("echo $x; f a; bash -c 'echo $Y'; echo err >&2; exit_code() { return 9; }; exit_code");
  CHECK(got["stdout"]["data"] == "5\nf a\n6\n");
  CHECK(got["stderr"]["data"] == "err\n");
  CHECK(got["exit"]["code"] == 9);
  CHECK(got["cwd"] == w.root + "/d");
}

TEST_CASE("shell: its command's standard input is empty, and its ends are its own") {
  shells w;
  CHECK(w.line("cat; read x; echo end")["stdout"]["data"] == "end\n");
  CHECK(w.line("ls /proc/self/fd | tr '\\n' ' '")["stdout"]["data"] == "0 1 2 3 ");
  CHECK(w.line("printf '%s' no-newline")["stdout"]["data"] == "no-newline");
  CHECK(w.line("head -c 500000 /dev/zero | tr '\\0' x")["stdout"]["total_bytes"] == 500000);
}

TEST_CASE("shell: syntax errors, exit, set -e, exec and a killed shell all give an answer and a usable handle") {
  shells w;
  json got = w.line("if then");
  CHECK(got["exit"]["code"].get<int>() != 0);
  CHECK(got["stderr"]["total_bytes"].get<int>() > 0);
  CHECK(w.line("echo after")["stdout"]["data"] == "after\n");
  got = w.line("exit 5");
  CHECK(got["exit"]["code"] == 5);
  CHECK(w.line("echo after")["stdout"]["data"] == "after\n");
  w.line("set -e; false");
  CHECK(w.line("echo after")["stdout"]["data"] == "after\n");
  got = w.line("exec echo replaced");
  CHECK(got["stdout"]["data"] == "replaced\n");
  CHECK(w.line("echo after")["stdout"]["data"] == "after\n");
  got = w.line("kill -9 $$");
  CHECK(got["restarted"] == true);
  CHECK(w.line("echo after")["stdout"]["data"] == "after\n");
  CHECK(w.line("echo 'unfinished")["exit"]["code"].get<int>() != 0);
  CHECK(w.line("cat <<EOF\nheredoc\nEOF")["stdout"]["data"] == "heredoc\n");
}

TEST_CASE("shell: a timeout interrupts the command and keeps the shell where it can") {
  shells w;
  w.line("kept=yes");
  json got = w.line("sleep 600", {{"timeout_ms", 300}});
  CHECK(got["exit"]["outcome"] == "timed_out");
  got = w.line("echo $kept");
  CHECK(got["stdout"]["data"] == "yes\n");
  got = w.line("trap '' INT TERM; while :; do sleep 0.1; done", {{"timeout_ms", 300}});
  CHECK(got["exit"]["outcome"] == "timed_out");
  CHECK(w.line("echo usable")["stdout"]["data"] == "usable\n");
}

TEST_CASE("shell: one command at a time") {
  shells w;
  const int id = w.c.start("shell.run", {{"shell", w.shell}, {"command", "sleep 0.5"}});
  std::this_thread::sleep_for(100ms);
  CHECK(w.c.kind("shell.run", {{"shell", w.shell}, {"command", "true"}}) == "conflict");
  CHECK(w.c.result(id)["exit"]["code"] == 0);
  w.c.call("shell.close", {{"shell", w.shell}});
  CHECK(w.c.kind("shell.run", {{"shell", w.shell}, {"command", "true"}}) == "no_such_handle");
}

TEST_SUITE_END();
