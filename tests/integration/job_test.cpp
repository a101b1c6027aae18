// Jobs outlive the call: their output is a log by offset, their end is told once and kept.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <thread>

#include "tests/support/harness/daemon.hpp"
#include "tests/support/harness/row.hpp"

using namespace sbx::test;

namespace {

struct jobs : world {
  using world::world;
  std::string begin(const std::string& command, json more = json::object()) {
    more["workspace"] = workspace;
    more["command"] = command;
    return c.call("job.start", std::move(more)).at("job");
  }
  json wait(const std::string& job, milliseconds limit = 20000ms) {
    return c.call("job.wait", {{"job", job}}, {}, limit);
  }
  json read(const std::string& job, json more = json::object()) {
    more["job"] = job;
    return c.call("job.read", std::move(more));
  }
  json collect(const std::string& job) { return c.call("job.collect", {{"job", job}}); }
  // Waits until the job is closed: its tree empty and all of its output there.
  void closed(const std::string& job) {
    REQUIRE(eventually([&] {
      const json at = read(job, {{"offset", 0}, {"max_bytes", 4}});
      const json all = read(job, {{"offset", at["next_offset"].get<std::int64_t>() + (4 << 20)}});
      return all["eof"] == true;
    }));
  }
};

}  // namespace

TEST_SUITE_BEGIN("every");

TEST_CASE("job: starts, is waited for, collected once and then forgotten") {
  jobs w;
  const std::string job = w.begin("echo out; echo err >&2; exit 3");
  CHECK(job.rfind("job-", 0) == 0);
  CHECK(job.size() == 36);
  const json ended = w.wait(job);
  CHECK(ended["status"] == "exited");
  CHECK(ended["exit"]["code"] == 3);
  json collected = w.collect(job);
  for (int i = 0; i < 50 && collected["status"] != "exited"; ++i) collected = w.collect(job);
  CHECK(collected["data"] == "out\nerr\n");
  CHECK(collected["exit"]["code"] == 3);
  CHECK(collected["more"] == false);
  CHECK(collected["truncated"] == false);
  CHECK(collected["dropped_bytes"] == 0);
  CHECK(eventually([&] { return w.c.reply(w.c.start("job.collect", {{"job", job}})).contains("error"); }));
  CHECK(w.c.kind("job.collect", {{"job", job}}) == "no_such_handle");
}

TEST_CASE("job: split streams have offsets of their own") {
  jobs w;
  const std::string job = w.begin("printf abc; printf 12345 >&2", {{"streams", "split"}});
  w.wait(job);
  CHECK(w.read(job)["data"] == "abc");
  CHECK(w.read(job, {{"stream", "stderr"}, {"offset", 2}})["data"] == "345");
  const json collected = w.collect(job);
  CHECK(collected["data"] == "abc");
  CHECK(collected["stderr"]["data"] == "12345");
}

TEST_CASE("job: the same key is the same job; other parameters a conflict") {
  jobs w;
  const std::string first = w.begin("echo x >>started; sleep 30", {{"key", "k"}});
  REQUIRE(eventually([&] { return read_file(w.root + "/started") == "x\n"; }));
  CHECK(w.begin("echo x >>started; sleep 30", {{"key", "k"}}) == first);
  CHECK(w.c.kind("job.start", {{"workspace", w.workspace}, {"command", "other"}, {"key", "k"}}) == "conflict");
  w.c.call("job.stop", {{"job", first}, {"grace_ms", 100}});
  CHECK(w.begin("echo x >>started; sleep 30", {{"key", "k"}}) == first);
  CHECK(read_file(w.root + "/started") == "x\n");
}

TEST_CASE("job: at most max_jobs at once; ended ones make room") {
  jobs w;
  std::vector<std::string> all;
  for (int i = 0; i < 8; ++i) all.push_back(w.begin("sleep 600"));
  const json error = w.c.refused("job.start", {{"workspace", w.workspace}, {"command", "true"}});
  CHECK(error["data"]["kind"] == "limit");
  CHECK(error["data"]["limit"] == "max_jobs");
  CHECK(error["data"]["max"] == 8);
  w.c.call("job.stop", {{"job", all[0]}});
  CHECK(eventually([&] {
    return w.c.reply(w.c.start("job.start", {{"workspace", w.workspace}, {"command", "true"}})).contains("result");
  }));
}

TEST_CASE("job.read: long poll answers at the first byte, at the end, or in time") {
  jobs w;
  const std::string job = w.begin("sleep 0.3; echo first; sleep 0.3");
  auto start = clock::now();
  json got = w.read(job, {{"wait_ms", 10000}});
  CHECK(got["data"] == "first\n");
  CHECK(since_ms(start) >= 250);
  CHECK(since_ms(start) < 3000);
  CHECK(got["next_offset"] == 6);
  CHECK(got["eof"] == false);
  got = w.read(job, {{"offset", 6}, {"wait_ms", 10000}});
  CHECK(got["data"] == "");
  CHECK(got["status"] == "exited");

  const std::string quiet = w.begin("sleep 600");
  start = clock::now();
  got = w.read(quiet, {{"wait_ms", 200}});
  CHECK(since_ms(start) >= 190);
  CHECK(since_ms(start) < 2000);
  CHECK(got["status"] == "running");
  CHECK(got["exit"].is_null());
}

TEST_CASE("job.read: what no longer is kept is counted as lost, by tail and by head") {
  jobs w;
  const std::string tail = w.begin("seq -w 1 100000", {{"retain_bytes", 7000}});
  w.wait(tail);
  w.closed(tail);
  json got = w.read(tail, {{"offset", 0}, {"max_bytes", 1 << 20}});
  CHECK(got["lost_bytes"].get<std::int64_t>() >= 700000 - 7000);
  CHECK(got["offset"] == got["lost_bytes"]);
  CHECK(got["next_offset"] == 700000);
  const std::string text = got["data"];
  CHECK(text.substr(text.size() - 7) == "100000\n");
  CHECK(got["eof"] == true);

  const std::string head = w.begin("seq -w 1 100000", {{"retain_bytes", 7000}, {"retain", "head"}});
  w.wait(head);
  w.closed(head);
  got = w.read(head, {{"offset", 0}, {"max_bytes", 1 << 20}});
  CHECK(got["data"].get<std::string>().substr(0, 14) == "000001\n000002\n");
  CHECK(got["data"].get<std::string>().size() == 7000);
}

TEST_CASE("job.read: a character is never torn, whatever is asked") {
  jobs w;
  const std::string job = w.begin("for i in $(seq 20); do printf 'a\\342\\202\\254\\360\\237\\230\\200'; done");
  w.wait(job);
  w.closed(job);
  const std::string whole = w.read(job, {{"max_bytes", 1000}})["data"];
  CHECK(whole.size() == 160);
  for (const int step : {4, 5, 6, 7, 9}) {
    std::string joined;
    std::int64_t offset = 0;
    for (int i = 0; i < 200; ++i) {
      const json got = w.read(job, {{"offset", offset}, {"max_bytes", step}});
      REQUIRE(got["encoding"] == "utf-8");
      joined += got["data"];
      offset = got["next_offset"];
      if (got["eof"] == true) break;
    }
    CHECK(joined == whole);
  }
  const std::string slow = w.begin("printf 'x\\342'; sleep 0.5; printf '\\202\\254'; sleep 0.2");
  json got = w.read(slow, {{"offset", 1}, {"wait_ms", 10000}});
  CHECK(got["data"] == "\xe2\x82\xac");
}

TEST_CASE("job.write: to a kept pipe, partly when it is full, and end-of-file") {
  jobs w;
  const std::string job = w.begin("cat", {{"stdin", true}});
  CHECK(w.c.call("job.write", {{"job", job}, {"data", "hello "}})["accepted_bytes"] == 6);
  CHECK(w.c.call("job.write",
                 {{"job", job}, {"data", "d29ybGQ="}, {"encoding", "base64"}, {"eof", true}})["accepted_bytes"] == 5);
  w.wait(job);
  CHECK(w.read(job)["data"] == "hello world");
  const std::string deaf = w.begin("sleep 600", {{"stdin", true}});
  const auto start = clock::now();
  const std::int64_t accepted =
      w.c.call("job.write", {{"job", deaf}, {"data", std::string(1 << 20, 'x')}})["accepted_bytes"];
  CHECK(accepted > 0);
  CHECK(accepted < 1 << 20);
  CHECK(since_ms(start) < 2000);
  const std::string closed = w.begin("true");
  w.wait(closed);
  CHECK(w.c.reply(w.c.start("job.write", {{"job", closed}, {"data", "x"}})).contains("error"));
}

TEST_CASE("job.stop: ends every descendant and keeps the last output") {
  jobs w;
  const std::string mark = "sbx-mark-" + random_word();
  const std::string job =
      w.begin("trap 'echo bye; exit 4' TERM; " + stubborn_tree(mark, "while :; do sleep 0.05; done"));
  await_marked(mark, 4);
  const json ended = w.c.call("job.stop", {{"job", job}, {"grace_ms", 500}});
  CHECK(none_alive(mark));
  CHECK(ended["status"] == "exited");
  CHECK(ended["exit"]["outcome"] == "stopped");
  CHECK(ended["exit"]["code"] == 4);
  // bash may tell before of the children that it lost.
  CHECK(w.collect(job)["data"].get<std::string>().ends_with("bye\n"));
}

TEST_CASE("job: exited and closed are two events, told to a follower in order") {
  jobs w;
  const std::string job = w.begin("sleep 0.2; printf one; (sleep 0.4; printf two) & exit 5");
  w.c.call("job.follow", {{"job", job}});
  const auto of_job = [&](const json& p) { return p["job"] == job; };
  json got = w.c.notification("job.output", of_job);
  CHECK(got["data"] == "one");
  CHECK(got["offset"] == 0);
  CHECK(got["lost_bytes"] == 0);
  CHECK(w.c.notification("job.exited", of_job)["exit"]["code"] == 5);
  got = w.c.notification("job.output", of_job);
  CHECK(got["data"] == "two");
  CHECK(got["offset"] == 3);
  w.c.notification("job.closed", of_job);
}

TEST_CASE("job.follow: a reader that stops gets a gap; others, and the job, don't notice") {
  jobs w;
  const std::string job = w.begin("yes 0123456789 | head -c 60000000; echo; echo END");
  client slow = w.host.connect();
  slow.call("session.attach", {{"session", w.c.call("session.get")["session"]}});
  slow.call("job.follow", {{"job", job}});
  // `slow` reads nothing meanwhile.
  CHECK(w.wait(job, 30000ms)["exit"]["code"] == 0);
  CHECK(w.c.call("system.ping")["pong"] == true);
  std::int64_t seen = 0, lost = 0;
  std::string last;
  while (true) {
    const json message = slow.next();
    if (message["method"] == "job.closed") break;
    if (message["method"] != "job.output") continue;
    CHECK(message["params"]["offset"] == seen + lost + message["params"]["lost_bytes"].get<std::int64_t>());
    lost += message["params"]["lost_bytes"].get<std::int64_t>();
    last = message["params"]["data"];
    seen += static_cast<std::int64_t>(last.size());
    CHECK(last.size() <= 256 << 10);
  }
  CHECK(seen + lost == 60000005);
  CHECK(lost > 0);
  CHECK(last.substr(last.size() - 5) == "\nEND\n");
}

TEST_CASE("job: another session's gets the very answer an unknown one gets") {
  jobs w;
  const std::string job = w.begin("sleep 600");
  client stranger = w.host.connect();
  const std::string unknown = "job-0123456789abcdef0123456789abcdef";
  for (const char* method :
       {"job.collect", "job.read", "job.follow", "job.unfollow", "job.wait", "job.signal", "job.stop", "job.write"}) {
    CAPTURE(method);
    const auto answer = [&](const std::string& handle) {
      json params = {{"job", handle}};
      if (method == std::string("job.signal")) params["signal"] = "SIGINT";
      if (method == std::string("job.write")) params["data"] = "x";
      json error = stranger.refused(method, params);
      CHECK(error["data"]["handle"] == handle);
      error["data"].erase("handle");
      std::string text = error.dump();
      if (const auto at = text.find(handle); at != std::string::npos) text.erase(at, handle.size());
      return text;
    };
    CHECK(answer(job) == answer(unknown));
  }
  CHECK(w.read(job)["status"] == "running");
  CHECK(stranger.call("job.list")["jobs"].empty());
  CHECK(w.c.call("job.list")["jobs"].size() == 1);
}

TEST_CASE("job: lives on without its connection in an opened session, and ends with it") {
  jobs w;
  const std::string session = w.c.call("session.open")["session"];
  client first = w.host.connect();
  first.call("session.attach", {{"session", session}});
  const std::string workspace =
      first.call("workspace.open", {{"roots", {w.root}}, {"backend", backend()}})["workspace"];
  const std::string mark = "sbx-mark-" + random_word();
  const std::string job = first.call(
      "job.start",
      {{"workspace", workspace}, {"command", "echo begun; bash -c 'exec -a " + mark + " sleep 600'; true"}})["job"];
  await_marked(mark, 1);
  first.close();
  client second = w.host.connect();
  second.call("session.attach", {{"session", session}});
  CHECK(second.call("job.read", {{"job", job}, {"wait_ms", 5000}})["data"] == "begun\n");
  CHECK(!none_alive(mark));
  const json ended = second.call("session.close");
  CHECK(std::find(ended["ended"].begin(), ended["ended"].end(), json(job)) != ended["ended"].end());
  CHECK(none_alive(mark));
}

TEST_CASE("exec.run: with yield_ms it becomes a job without losing a byte") {
  jobs w;
  const json running = w.sh("printf early; sleep 0.6; printf late; exit 6", {{"yield_ms", 200}});
  CHECK(running["status"] == "running");
  CHECK(running["exit"].is_null());
  CHECK(running["stdout"]["data"] == "early");
  const std::string job = running["job"];
  CHECK(w.wait(job)["exit"]["code"] == 6);
  std::string rest;
  json got;
  do {
    got = w.collect(job);
    rest += got["data"];
  } while (got["status"] != "exited" || got["more"] == true);
  CHECK(rest == "late");
  const json quick = w.sh("echo done", {{"yield_ms", 5000}});
  CHECK(quick["status"] == "exited");
  CHECK(!quick.contains("job"));
}

TEST_CASE("job: two thousand one after another leave nothing behind (slow)") {
  jobs w;
  const auto some = [&](int count) {
    for (int i = 0; i < count; ++i) {
      const std::string job = w.c.call("job.start", {{"workspace", w.workspace}, {"argv", {"/bin/true"}}})["job"];
      w.wait(job);
    }
  };
  some(400);
  const auto memory = resident_kb(w.host.pid());
  const int descriptors = open_descriptors(w.host.pid());
  some(2000);
  CHECK(resident_kb(w.host.pid()) - memory < 6000);
  CHECK(open_descriptors(w.host.pid()) <= descriptors + 2);
  CHECK(w.c.call("job.list")["jobs"].size() <= 256 + 8);
}

TEST_CASE("job: a thousand at once start, and are stopped in time (slow)") {
  daemon_options options;
  options.config = R"({"limits": {"max_jobs": 1200}})";
  jobs w(std::move(options));
  std::vector<std::string> all;
  for (int i = 0; i < 1000; ++i) {
    all.push_back(w.c.call("job.start", {{"workspace", w.workspace}, {"argv", {"sleep", "600"}}})["job"]);
  }
  const auto start = clock::now();
  std::vector<int> ids;
  for (const auto& job : all) ids.push_back(w.c.start("job.stop", {{"job", job}}));
  for (const int id : ids) CHECK(w.c.result(id, 30000ms)["exit"]["signal"] == "SIGTERM");
  CHECK(since_ms(start) < 5000);
}

TEST_SUITE_END();
