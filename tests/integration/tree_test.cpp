// The end of a command is the end of all it started, however it comes about; and what may live on, lives on.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/harness/daemon.hpp"
#include "tests/support/harness/row.hpp"

using namespace sbx::test;

TEST_SUITE_BEGIN("every");

TEST_CASE("timing: a background descendant does not hold back the answer") {
  world w;
  w.sh("true");
  const auto start = clock::now();
  const json answer = w.sh("sleep 100 & echo hi");
  CHECK(since_ms(start) < 300);
  CHECK(answer["exit"]["duration_ms"].get<int>() < 200);
  CHECK(answer["stdout"]["data"] == "hi\n");
  CHECK(answer["survivors"] == 1);
}

TEST_CASE("timing: a descendant that keeps the pipe without writing costs at most the short wait") {
  world w;
  w.sh("true");
  for (int i = 0; i < 5; ++i) {
    const auto start = clock::now();
    const json answer = w.sh("printf data; sleep 100 & exit 3");
    CHECK(since_ms(start) < 200);
    CHECK(answer["exit"]["code"] == 3);
    CHECK(answer["stdout"]["data"] == "data");
  }
}

TEST_CASE("survivors: they are not struck by SIGPIPE, and what they write is drained") {
  world w;
  const std::string file = w.root + "/progress";
  json answer = w.sh(
      "(for i in 1 2 3 4 5 6 7 8; do head -c 100000 /dev/zero || exit; sleep 0.1; done; echo done >progress) & echo "
      "hi");
  CHECK(answer["survivors"].get<int>() >= 1);
  CHECK(eventually([&] { return read_file(file) == "done\n"; }, 10s));
}

TEST_CASE("survivors: kill ends them before the answer") {
  world w;
  const std::string mark = "sbx-mark-" + random_word();
  const json answer = w.sh(stubborn_tree(mark, "sleep 0.3; echo hi"), {{"survivors", "kill"}});
  CHECK(answer["exit"]["code"] == 0);
  CHECK(answer["stdout"]["data"] == "hi\n");
  CHECK(answer["survivors"] == 0);
  CHECK(none_alive(mark));
}

TEST_CASE("survivors: the 65th tree costs the oldest its life") {
  world w;
  const std::string mark = "sbx-mark-" + random_word();
  const auto leave = [&](int number) {
    w.sh("bash -c 'exec -a " + mark + "-" + std::to_string(number) + "- sleep 600' >/dev/null 2>&1 & sleep 0.02");
  };
  for (int i = 0; i < 64; ++i) leave(i);
  CHECK(!none_alive(mark + "-0-"));
  leave(64);
  CHECK(eventually([&] { return none_alive(mark + "-0-"); }));
  CHECK(!none_alive(mark + "-1-"));
  CHECK(!none_alive(mark + "-64-"));
}

TEST_CASE("survivors: exec > >(cat) ends, and its output is there") {
  world w;
  const json answer = w.sh("exec > >(cat); echo through");
  CHECK(answer["exit"]["code"] == 0);
  CHECK(answer["stdout"]["data"] == "through\n");
}

TEST_CASE("timeout: ends the whole tree, and says so") {
  world w;
  const std::string mark = "sbx-mark-" + random_word();
  const auto start = clock::now();
  const json answer = w.sh(stubborn_tree(mark, "echo begun; sleep 600"), {{"timeout_ms", 700}, {"grace_ms", 300}});
  CHECK(since_ms(start) >= 690);
  CHECK(since_ms(start) < 4000);
  CHECK(answer["exit"]["outcome"] == "timed_out");
  CHECK(answer["exit"]["signal"] == "SIGTERM");
  CHECK(answer["exit"]["code"] == 143);
  CHECK(answer["stdout"]["data"] == "begun\n");
  CHECK(none_alive(mark));
}

TEST_CASE("timeout: TERM first, and a command that cleans up in its grace ends by itself") {
  world w;
  const json answer = w.sh("trap 'echo cleaned; exit 7' TERM; sleep 600 & wait", {{"timeout_ms", 300}});
  CHECK(answer["exit"]["outcome"] == "timed_out");
  CHECK(answer["exit"]["code"] == 7);
  CHECK(answer["exit"]["signal"].is_null());
  CHECK(answer["stdout"]["data"] == "cleaned\n");
}

TEST_CASE("timeout: one that ignores TERM is killed after the grace") {
  world w;
  const auto start = clock::now();
  const json answer = w.sh("trap '' TERM; while :; do sleep 1; done", {{"timeout_ms", 200}, {"grace_ms", 300}});
  CHECK(since_ms(start) >= 480);
  CHECK(answer["exit"]["outcome"] == "timed_out");
  CHECK(answer["exit"]["signal"] == "SIGKILL");
}

TEST_CASE("timeout: a storm of forks is ended too") {
  world w({}, json::object());
  const std::string mark = "sbx-mark-" + random_word();
  const json answer =
      w.sh("f() { while :; do bash -c 'exec -a " + mark + " sleep 600' & (: & : &); done; }; f & f & f & f & wait",
           {{"timeout_ms", 400}, {"grace_ms", 50}});
  CHECK(answer["exit"]["outcome"] == "timed_out");
  CHECK(none_alive(mark));
  CHECK(w.out("echo well") == "well\n");
}

TEST_CASE("cancel: by notification and by rpc.cancel, answered after the tree has ended") {
  world w;
  for (const bool by_method : {false, true}) {
    CAPTURE(by_method);
    const std::string mark = "sbx-mark-" + random_word();
    const int id = w.start_sh(stubborn_tree(mark, "sleep 600"), {{"grace_ms", 200}});
    await_marked(mark, 4);
    if (by_method) {
      CHECK(w.c.call("rpc.cancel", {{"id", id}})["cancelled"] == true);
    } else {
      w.c.notify("$/cancelRequest", {{"id", id}});
    }
    const json error = w.c.error(id);
    CHECK(none_alive(mark));
    CHECK(error["code"] == -32800);
    CHECK(error["data"]["kind"] == "cancelled");
    CHECK(w.c.call("rpc.cancel", {{"id", id}})["cancelled"] == false);
  }
}

TEST_CASE("client gone: its command's tree is killed at once") {
  world w;
  const std::string mark = "sbx-mark-" + random_word();
  client other = w.host.connect();
  const json session = w.c.call("session.get");
  other.call("session.attach", {{"session", session["session"]}});
  other.start("exec.run", {{"workspace", w.workspace}, {"command", stubborn_tree(mark, "sleep 600")}});
  await_marked(mark, 4);
  other.close();
  CHECK(eventually([&] { return none_alive(mark); }, 2000ms));
  CHECK(w.out("echo well") == "well\n");
}

TEST_CASE("workspace.restart: ends every process, survivors and running commands alike") {
  world w;
  const std::string mark = "sbx-mark-" + random_word();
  w.sh(stubborn_tree(mark, "sleep 0.2"));
  await_marked(mark, 4);
  const int id = w.start_sh("sleep 600");
  const json before = w.c.call("workspace.get", {{"workspace", w.workspace}});
  w.c.call("workspace.restart", {{"workspace", w.workspace}});
  CHECK(none_alive(mark));
  const json answer = w.c.result(id);
  CHECK(answer["exit"]["outcome"] == "stopped");
  CHECK(w.out("echo fresh") == "fresh\n");
  const json after = w.c.call("workspace.get", {{"workspace", w.workspace}});
  CHECK(after["sandbox"]["generation"].get<int>() == before["sandbox"]["generation"].get<int>() + 1);
}

TEST_CASE("daemon ended by SIGTERM: the tree ends with it, requests in flight are told") {
  world w;
  const std::string mark = "sbx-mark-" + random_word();
  const int id = w.start_sh(stubborn_tree(mark, "sleep 600"));
  await_marked(mark, 4);
  const auto start = clock::now();
  const int status = w.host.stop();
  CHECK(since_ms(start) < 10000);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  CHECK(none_alive(mark));
  const json answer = w.c.reply(id);
  REQUIRE(answer.contains("error"));
  CHECK(answer["error"]["code"] == -32013);
  CHECK(answer["error"]["data"]["retryable"] == true);
  CHECK(w.c.closed());
  CHECK(!exists(w.host.socket()));
}

TEST_CASE("daemon killed: nothing lives on, and a new one starts in its place") {
  world w;
  const std::string mark = "sbx-mark-" + random_word();
  w.start_sh(stubborn_tree(mark, "sleep 600"));
  await_marked(mark, 4);
  w.host.kill_now();
  CHECK(eventually([&] { return none_alive(mark); }, 5000ms));
  w.host.expect_nothing_left();
  w.host.start();
  client c = w.host.connect();
  CHECK(c.call("system.ping")["pong"] == true);
}

TEST_CASE("exec.signal: to the whole tree or to the leader alone") {
  world w;
  int id = w.start_sh("trap 'echo got; exit 5' USR1; echo ready >ready; while :; do sleep 0.05; done");
  REQUIRE(eventually([&] { return exists(w.root + "/ready"); }));
  w.c.call("exec.signal", {{"id", id}, {"signal", "SIGUSR1"}, {"target", "leader"}});
  json answer = w.c.result(id);
  CHECK(answer["exit"]["code"] == 5);
  CHECK(answer["stdout"]["data"] == "got\n");

  const std::string mark = "sbx-mark-" + random_word();
  id = w.start_sh("(setsid bash -c 'exec -a " + mark + " sleep 600' &) ; exec sleep 600");
  await_marked(mark, 1);
  REQUIRE(eventually([&] { return processes_with(mark).size() == 1; }));
  w.c.call("exec.signal", {{"id", id}, {"signal", "SIGUSR1"}});
  answer = w.c.result(id);
  CHECK(answer["exit"]["outcome"] == "signaled");
  CHECK(answer["exit"]["signal"] == "SIGUSR1");
  CHECK(eventually([&] { return none_alive(mark); }, 2000ms));

  CHECK(w.c.kind("exec.signal", {{"id", id}, {"signal", "SIGNONE"}}) == "invalid_params");
}

TEST_CASE("timing: 40 commands of a second each run beside one another") {
  world w;
  w.sh("true");
  const auto start = clock::now();
  std::vector<int> ids;
  for (int i = 0; i < 40; ++i) {
    ids.push_back(w.c.start("exec.run", {{"workspace", w.workspace}, {"argv", {"sleep", "1"}}}));
  }
  for (const int id : ids) CHECK(w.c.result(id)["exit"]["code"] == 0);
  CHECK(since_ms(start) < 2000);
}

TEST_CASE("growth: ten thousand commands leave no descriptor, process or memory behind (slow)") {
  world w;
  const auto some = [&](int count) {
    for (int i = 0; i < count; i += 50) {
      std::vector<int> ids;
      for (int k = 0; k < 50; ++k) {
        ids.push_back(w.c.start("exec.run", {{"workspace", w.workspace}, {"argv", {"/bin/echo", "hi"}}}));
      }
      for (const int id : ids) REQUIRE(w.c.result(id)["stdout"]["data"] == "hi\n");
    }
  };
  some(2000);
  const auto memory = resident_kb(w.host.pid());
  const int descriptors = open_descriptors(w.host.pid());
  const auto children = children_of(w.host.pid()).size();
  some(10000);
  CHECK(open_descriptors(w.host.pid()) <= descriptors + 2);  // a leash in waiting more or less
  CHECK(children_of(w.host.pid()).size() <= children);
  CHECK(resident_kb(w.host.pid()) - memory < 4000);
  const json inside = w.c.call("workspace.processes", {{"workspace", w.workspace}})["processes"];
  CHECK(inside.size() <= 8);
  for (const json& process : inside) CHECK(process["state"] != "Z");
}

TEST_CASE("no stranger: short commands with timeouts near their run time never signal anyone else (slow)") {
  world w;
  // A tree that any misdirected signal would end, in the same sandbox.
  const std::string mark = "sbx-mark-" + random_word();
  const int canary = w.start_sh("for i in 1 2 3 4 5 6 7 8; do bash -c 'exec -a " + mark + " sleep 600' & done; wait");
  await_marked(mark, 9);
  const auto alive = processes_with(mark);
  int timed_out = 0;
  const int total = 50000;
  for (int i = 0; i < total; i += 40) {
    std::vector<int> ids;
    for (int k = 0; k < 40; ++k) {
      ids.push_back(w.c.start("exec.run", {{"workspace", w.workspace},
                                           {"argv", {"/bin/true"}},
                                           {"timeout_ms", 1 + (i + k) % 40},
                                           {"grace_ms", k % 2}}));
    }
    for (const int id : ids) {
      const json answer = w.c.reply(id, 30000ms);
      REQUIRE_MESSAGE(answer.contains("result"), answer.dump());
      const std::string outcome = answer["result"]["exit"]["outcome"];
      REQUIRE((outcome == "exited" || outcome == "timed_out"));
      timed_out += outcome == "timed_out";
    }
  }
  MESSAGE(timed_out << " of " << total << " timed out");
  CHECK(processes_with(mark) == alive);
  w.c.notify("$/cancelRequest", {{"id", canary}});
  w.c.error(canary);
}

TEST_SUITE_END();

TEST_SUITE_BEGIN("bwrap");

TEST_CASE("hostile command: killing or stopping its own ancestor gives an honest end, and the next command works") {
  world w;
  const std::string other_root = w.host.make_root("other");
  const std::string other = w.c.call("workspace.open", {{"roots", {other_root}}, {"backend", backend()}})["workspace"];
  const std::string mark = "sbx-mark-" + random_word();
  const int bystander =
      w.c.start("exec.run", {{"workspace", other}, {"command", "bash -c 'exec -a " + mark + " sleep 600'; true"}});
  await_marked(mark, 1);

  const std::string own = "sbx-mark-" + random_word();
  const std::string nap = "(setsid bash -c 'exec -a " + own + " sleep 600' </dev/null >/dev/null 2>&1 &); sleep 0.1; ";
  json answer = w.sh(nap + "kill -9 $PPID; sleep 600", {{"timeout_ms", 20000}});
  CHECK(answer["exit"]["signal"] == "SIGKILL");
  CHECK(answer["exit"]["duration_ms"].get<int>() < 8000);
  CHECK(eventually([&] { return none_alive(own); }, 6000ms));
  CHECK(w.out("echo next") == "next\n");

  answer = w.sh("kill -STOP $PPID; sleep 0.2; exit 9", {{"timeout_ms", 20000}});
  CHECK(answer["exit"]["code"] == 9);
  CHECK(answer["exit"]["outcome"] == "exited");
  CHECK(w.out("echo next") == "next\n");

  answer = w.sh(nap + "kill -9 -1; exit 4", {{"timeout_ms", 20000}});
  CHECK(answer["exit"]["outcome"].is_string());
  CHECK(answer["exit"]["outcome"] != "timed_out");
  CHECK(eventually([&] { return none_alive(own); }, 6000ms));
  CHECK(w.out("echo next") == "next\n");

  CHECK(!none_alive(mark));
  CHECK(!w.c.has_reply(bystander, 50ms));
  w.c.notify("$/cancelRequest", {{"id", bystander}});
  w.c.error(bystander);
}

TEST_CASE("lost: a sandbox whose first process is killed ends its commands so, and the next use starts a new one") {
  world w;
  const std::string mark = "sbx-mark-" + random_word();
  const int id = w.start_sh("bash -c 'exec -a " + mark + " sleep 600'; true");
  await_marked(mark, 1);
  const json before = w.c.call("workspace.get", {{"workspace", w.workspace}});
  CHECK(before["state"] == "running");
  REQUIRE(before["sandbox"]["pid"].is_number_integer());
  REQUIRE(::kill(before["sandbox"]["pid"].get<pid_t>(), SIGKILL) == 0);
  const json answer = w.c.result(id);
  CHECK(answer["exit"]["outcome"] == "lost");
  CHECK(answer["exit"]["code"].is_null());
  CHECK(answer["exit"]["signal"].is_null());
  CHECK(answer["exit"]["usage"].is_null());
  CHECK(eventually([&] { return none_alive(mark); }));
  CHECK(w.out("echo again") == "again\n");
  const json after = w.c.call("workspace.get", {{"workspace", w.workspace}});
  CHECK(after["sandbox"]["generation"].get<int>() == before["sandbox"]["generation"].get<int>() + 1);
}

TEST_SUITE_END();
