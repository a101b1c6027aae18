// A first process that lies, stalls, floods or answers out of turn: its sandbox ends, everything else goes on.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/harness/daemon.hpp"
#include "tests/support/harness/row.hpp"

using namespace sbx::test;

namespace {

struct liars {
  liars() {
    char pattern[] = "/tmp/sbx-it-liar-XXXXXX";
    REQUIRE(::mkdtemp(pattern) != nullptr);
    directory = pattern;
    ::chmod(pattern, 0755);
    REQUIRE(run({"install", "-m", "0755", program("sbxd"), directory + "/sbxd"}).status == 0);
    REQUIRE(run({"install", "-m", "0755", program("sbx-lying-init"), directory + "/sbx-init"}).status == 0);
    daemon_options options;
    options.programs = directory;
    host = std::make_unique<test_daemon>(std::move(options));
  }
  ~liars() {
    host.reset();
    run({"rm", "-rf", directory});
  }
  std::string directory;
  std::unique_ptr<test_daemon> host;
};

}  // namespace

TEST_SUITE_BEGIN("once");

TEST_CASE("liar: each lie ends its own sandbox alone, with a typed answer (slow)") {
  liars w;
  client c = w.host->connect();
  const std::string honest_root = w.host->make_root("honest");
  const std::string honest = c.call("workspace.open", {{"roots", {honest_root}}, {"backend", "bwrap"}})["workspace"];
  const std::string mark = "sbx-mark-" + random_word();
  const int bystander =
      c.start("exec.run", {{"workspace", honest}, {"command", "bash -c 'exec -a " + mark + " sleep 600'; true"}});
  await_marked(mark, 1);
  const auto memory = resident_kb(w.host->pid());

  std::vector<std::pair<std::string, int>> asked;
  for (const std::string mode :
       {"silent", "die", "noise", "wrong-version", "die-anchor", "mute-spawn", "die-spawn", "noise-leash", "exit-first",
        "wrong-serial", "ready-twice", "huge", "flood", "negative-pid", "many-exits", "mad-reason"}) {
    const json opened =
        c.call("workspace.open", {{"roots", {w.host->make_root("liar-" + mode)}}, {"backend", "bwrap"}});
    asked.emplace_back(mode, c.start("exec.run", {{"workspace", opened["workspace"]}, {"argv", {"/bin/true"}}}));
  }
  for (const auto& [mode, id] : asked) {
    CAPTURE(mode);
    const json reply = c.reply(id, 40000ms);
    CAPTURE(reply.dump());
    if (reply.contains("error")) {
      const std::string kind = reply["error"]["data"]["kind"];
      const bool start = mode == "silent" || mode == "die" || mode == "noise" || mode == "wrong-version";
      if (start) {
        CHECK(kind == "sandbox_unavailable");
      } else {
        CHECK((kind == "sandbox_lost" || kind == "sandbox_unavailable" ||
               (mode == "mad-reason" && kind == "spawn_failed")));
      }
    } else {
      // An end that was told in order is believed: it concerns the liar alone. What lies after a believable start is
      // lost.
      CHECK((mode == "many-exits" || (mode == "flood" && reply["result"]["exit"]["outcome"] == "lost")));
    }
    CHECK(c.call("system.ping")["pong"] == true);
  }
  CHECK(!none_alive(mark));
  CHECK(!c.has_reply(bystander, 10ms));
  CHECK(c.call("exec.run", {{"workspace", honest}, {"argv", {"/bin/echo", "well"}}})["stdout"]["data"] == "well\n");
  CHECK(resident_kb(w.host->pid()) - memory < 60000);
  c.notify("$/cancelRequest", {{"id", bystander}});
  c.error(bystander);
}

TEST_CASE("liar: a false /dev/pts gives no terminal") {
  liars w;
  client c = w.host->connect();
  const json opened =
      c.call("workspace.open", {{"roots", {w.host->make_root("liar-false-devpts")}}, {"backend", "bwrap"}});
  const json reply =
      c.reply(c.start("pty.open", {{"workspace", opened["workspace"]}, {"argv", {"/bin/true"}}}), 30000ms);
  CHECK(reply.contains("error"));
  CHECK(c.call("system.ping")["pong"] == true);
}

TEST_SUITE_END();
