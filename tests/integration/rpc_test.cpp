// The connection itself: framings, ids, batches, concurrency, cancelling, half-close and limits.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include "tests/support/harness/daemon.hpp"
#include "tests/support/harness/row.hpp"

using namespace sbx::test;

TEST_SUITE_BEGIN("once");

TEST_CASE("rpc: both framings answer alike, lines with \\r and blank lines too") {
  test_daemon d;
  client lines = d.connect(), headers = d.connect(framing::headers);
  CHECK(lines.call("system.ping") == headers.call("system.ping"));
  lines.send_bytes("\n\r\n{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"system.ping\"}\r\n");
  CHECK(lines.result("a")["pong"] == true);
  headers.send_bytes(
      "content-type: x\r\ncontent-length: 45\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"rpc.none\"}\n");
  CHECK(headers.error(7)["code"] == -32601);
}

TEST_CASE("rpc: an id comes back exactly as sent") {
  test_daemon d;
  client c = d.connect();
  for (const char* id : {"0", "-1", "18446744073709551615", "-9223372036854775808", "\"\"", "\"18446744073709551615\"",
                         "null", "\"\\u00e9\\n\""}) {
    CAPTURE(id);
    c.send_bytes("{\"jsonrpc\":\"2.0\",\"id\":" + std::string(id) + ",\"method\":\"system.ping\"}\n");
    const json reply = c.next();
    CHECK(reply["id"] == json::parse(id));
    CHECK(reply["result"]["pong"] == true);
  }
  for (const char* id : {"1.5", "{}", "[1]", "true", "18446744073709551616"}) {
    CAPTURE(id);
    c.send_bytes("{\"jsonrpc\":\"2.0\",\"id\":" + std::string(id) + ",\"method\":\"system.ping\"}\n");
    const json reply = c.next();
    CHECK(reply["id"].is_null());
    CHECK(reply["error"]["code"] == -32600);
  }
}

TEST_CASE("rpc: faults of the envelope have their codes") {
  test_daemon d;
  client c = d.connect();
  const auto code = [&](const std::string& text) {
    c.send_bytes(text + "\n");
    const json reply = c.next();
    CHECK(reply["error"]["data"]["kind"].is_string());
    return reply["error"]["code"].get<int>();
  };
  CHECK(code("{") == -32700);
  CHECK(code("nonsense") == -32700);
  CHECK(code("{\"a\":\"\xff\"}") == -32700);
  CHECK(code("1") == -32600);
  CHECK(code("[]") == -32600);
  CHECK(code(R"({"jsonrpc":"1.0","id":1,"method":"system.ping"})") == -32600);
  CHECK(code(R"({"id":1,"method":"system.ping"})") == -32600);
  CHECK(code(R"({"jsonrpc":"2.0","id":1})") == -32600);
  CHECK(code(R"({"jsonrpc":"2.0","id":1,"method":5})") == -32600);
  CHECK(code(R"({"jsonrpc":"2.0","id":1,"method":"no.such"})") == -32601);
  CHECK(code(R"({"jsonrpc":"2.0","id":1,"method":"system.ping","params":[]})") == -32602);
  CHECK(code(R"({"jsonrpc":"2.0","id":1,"method":"system.ping","params":{"x":1}})") == -32602);
  CHECK(c.refused("exec.run", {{"workspace", 5}, {"argv", {"true"}}})["data"]["path"] == "/workspace");
  CHECK(c.refused("exec.run", {{"workspace", "ws-x"}, {"argv", {"true", 5}}})["data"]["path"] == "/argv/1");
  CHECK(c.refused("exec.run", {{"workspace", "ws-x"}, {"argv", {"a"}}, {"typo", 1}})["data"]["path"] == "/typo");
}

TEST_CASE("rpc: batches are answered as one, notifications never") {
  test_daemon d;
  client c = d.connect();
  c.send(json::array({{{"jsonrpc", "2.0"}, {"id", 1}, {"method", "system.ping"}},
                      {{"jsonrpc", "2.0"}, {"method", "system.ping"}},
                      5,
                      {{"jsonrpc", "2.0"}, {"id", "x"}, {"method", "no.such"}}}));
  const json answers = c.next();
  REQUIRE(answers.is_array());
  CHECK(answers.size() == 3);
  c.send(json::array({{{"jsonrpc", "2.0"}, {"method", "system.ping"}}}));
  c.notify("no.such", {{"a", 1}});
  json many = json::array();
  for (int i = 0; i < 65; ++i) many.push_back({{"jsonrpc", "2.0"}, {"id", i}, {"method", "system.ping"}});
  c.send(many);
  const json refused = c.next();
  REQUIRE(refused.is_object());
  CHECK(refused["id"].is_null());
  CHECK(refused["error"]["code"] == -32600);
  many.erase(64);
  c.send(many);
  CHECK(c.next().size() == 64);
}

TEST_CASE("rpc: depth is limited while the connection lives on; a frame too large ends it") {
  test_daemon d;
  client c = d.connect();
  c.send_bytes(std::string(100000, '[') + std::string(100000, ']') + "\n");
  json reply = c.next();
  CHECK(reply["error"]["code"] == -32600);
  CHECK(reply["id"].is_null());
  std::string deep = R"({"jsonrpc":"2.0","id":1,"method":"system.ping","params":)";
  for (int i = 0; i < 70; ++i) deep += "{\"a\":";
  deep += "1" + std::string(70, '}') + "}\n";
  c.send_bytes(deep);
  CHECK(c.next()["error"]["code"] == -32600);
  CHECK(c.call("system.ping")["pong"] == true);

  client large = d.connect();
  static_cast<void>(large.try_send_bytes("{\"a\":\"" + std::string((16 << 20) + 10, 'x')));
  CHECK(large.closed());
  client exact = d.connect();
  std::string frame = R"({"jsonrpc":"2.0","id":1,"method":"system.ping"})";
  frame += std::string((16 << 20) - frame.size(), ' ') + "\n";
  exact.send_bytes(frame);
  CHECK(exact.result(1)["pong"] == true);

  client bad = d.connect(framing::headers);
  bad.send_bytes("Content-Length: -5\r\n\r\n");
  CHECK(bad.closed());
  client huge = d.connect(framing::headers);
  huge.send_bytes("Content-Length: 99999999999\r\n\r\n");
  CHECK(huge.closed());
}

TEST_CASE("rpc: requests of one connection run beside each other and answer as they finish") {
  world w({}, {{"backend", "none"}});
  const int slow = w.start_sh("sleep 0.5; echo slow");
  const int fast = w.start_sh("echo fast");
  CHECK(w.c.result(fast)["stdout"]["data"] == "fast\n");
  CHECK(!w.c.has_reply(slow, 1ms));
  CHECK(w.c.result(slow)["stdout"]["data"] == "slow\n");
}

TEST_CASE("rpc: an id in flight is not taken twice") {
  world w({}, {{"backend", "none"}});
  const json request = {{"jsonrpc", "2.0"},
                        {"id", "same"},
                        {"method", "exec.run"},
                        {"params", {{"workspace", w.workspace}, {"command", "sleep 0.4"}}}};
  w.c.send(request);
  w.c.send(request);
  const json refused = w.c.next();
  CHECK(refused["id"].is_null());
  CHECK(refused["error"]["code"] == -32600);
  CHECK(w.c.result("same")["exit"]["code"] == 0);
  w.c.send({{"jsonrpc", "2.0"}, {"id", "same"}, {"method", "system.ping"}});
  CHECK(w.c.result("same")["pong"] == true);
}

TEST_CASE("rpc: workspace.open takes effect before later requests of the same write") {
  test_daemon d;
  client c = d.connect();
  const std::string root = d.make_root();
  const std::string workspace = c.call("workspace.open", {{"roots", {root}}, {"backend", "none"}})["workspace"];
  client other = d.connect();
  std::string bytes = json({{"jsonrpc", "2.0"},
                            {"id", 1},
                            {"method", "workspace.open"},
                            {"params", {{"roots", {root}}, {"backend", "none"}}}})
                          .dump() +
                      "\n";
  for (int i = 2; i < 10; ++i) {
    bytes += json({{"jsonrpc", "2.0"},
                   {"id", i},
                   {"method", "exec.run"},
                   {"params", {{"workspace", workspace}, {"argv", {"true"}}}}})
                 .dump() +
             "\n";
  }
  other.send_bytes(bytes);
  for (int i = 1; i < 10; ++i) other.result(i);
}

TEST_CASE("rpc: a half-closed connection still gets what it is owed") {
  world w({}, {{"backend", "none"}});
  client other = w.host.connect();
  other.call("workspace.open", {{"roots", {w.root}}, {"backend", "none"}});
  const int id = other.start("exec.run", {{"workspace", w.workspace}, {"command", "sleep 0.5; echo late"}});
  other.half_close();
  CHECK(other.result(id)["stdout"]["data"] == "late\n");
  CHECK(other.closed());
}

TEST_CASE("rpc: 256 connections at once, and one more is no harm") {
  test_daemon d;
  std::vector<client> many;
  for (int i = 0; i < 256; ++i) many.push_back(d.connect());
  for (client& c : many) CHECK(c.call("system.ping")["pong"] == true);
}

TEST_CASE("rpc: descriptors over the count are refused and closed") {
  test_daemon d;
  client c = d.connect();
  pipe_ends ends = make_pipe();
  c.call("system.ping");
  const int before = open_descriptors(d.pid());
  c.send({{"jsonrpc", "2.0"}, {"id", 1}, {"method", "system.ping"}}, std::vector<int>(9, ends.write.get()));
  CHECK(c.error(1)["code"] == -32600);
  c.send({{"jsonrpc", "2.0"}, {"id", 2}, {"method", "system.ping"}}, std::vector<int>(8, ends.write.get()));
  CHECK(c.result(2)["pong"] == true);
  ends.write.reset();
  CHECK(read_all(ends.read).empty());
  CHECK(open_descriptors(d.pid()) == before);
}

TEST_CASE("rpc: info, doctor, stats and discover tell of the daemon") {
  test_daemon d;
  client c = d.connect();
  const json info = c.call("system.info");
  CHECK(info["protocol"] == 1);
  CHECK(info["pid"] == d.pid());
  CHECK(info["version"].is_string());
  CHECK(info["uptime_ms"].is_number_integer());
  for (const char* name : {"bwrap", "none"}) CHECK(info["backends"][name]["available"] == true);
  CHECK(info["features"].is_object());
  const json doctor = c.call("system.doctor");
  REQUIRE(doctor["checks"].is_array());
  for (const json& check : doctor["checks"]) {
    const std::string status = check["status"];
    CHECK((status == "ok" || status == "warn" || status == "fail"));
  }
  const json stats = c.call("system.stats");
  CHECK(stats["connections"] == 1);
  CHECK(stats["uptime_ms"].is_number_integer());
  const json document = c.call("rpc.discover");
  CHECK(document["openrpc"].get<std::string>().rfind("1.", 0) == 0);
  bool found = false;
  for (const json& method : document["methods"]) {
    CHECK(method["name"].is_string());
    CHECK(method["result"].is_object());
    found = found || method["name"] == "exec.run";
  }
  CHECK(found);
}

TEST_SUITE_END();
