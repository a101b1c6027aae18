#include "daemon/rpc/connection.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>

#include <set>

#include "tests/unit/rpc/fixture.hpp"

using namespace sbx::rpc;
using namespace sbx::rpc::test;

namespace {

std::string call(std::string id, std::string method) {
  return R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":")" + method + "\"}\n";
}
bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

template <class Condition>
bool eventually(Condition condition) {
  for (int i = 0; i < 5000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(1ms);
  }
  return false;
}

}  // namespace

TEST_CASE("connection: answers a call, with its id as it was sent") {
  running_server server;
  auto c = server.connect();
  c.send(call("18446744073709551615", "ping"));
  CHECK(c.line() == R"({"jsonrpc":"2.0","id":18446744073709551615,"result":{"pong":true}})");
  c.send(call("\"a\\u00e9\"", "ping"));
  CHECK(has(c.line(), "\"id\":\"a\xc3\xa9\""));
  c.send(call("null", "ping"));
  CHECK(has(c.line(), "\"id\":null,\"result\""));
}

TEST_CASE("connection: speaks LSP headers when the first byte says so") {
  running_server server;
  auto c = server.connect();
  const std::string body = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
  c.send("Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body);
  CHECK(has(c.line(), "Content-Length: "));
  c.half_close();
  std::string rest;
  CHECK(c.read_to_end(rest));
  CHECK(has(rest, "pong"));
}

TEST_CASE("connection: typed errors for what is no call") {
  running_server server;
  auto c = server.connect();
  c.send("{broken\n");
  CHECK(has(c.line(), "-32700"));
  c.send("[]\n");
  CHECK(has(c.line(), "-32600"));
  c.send(call("1", "no.such"));
  CHECK(has(c.line(), "-32601"));
  c.send(call("1", "throw"));
  CHECK(has(c.line(), "-32603"));
  CHECK(server.failures() == 1);
  c.send(call("[1]", "ping"));
  CHECK(has(c.line(), "-32600"));
  c.send(call("2", "ping"));
  CHECK(has(c.line(), "pong"));
}

TEST_CASE("connection: requests run beside each other, replies come as they finish") {
  running_server server;
  auto c = server.connect();
  c.send(call("1", "sleep") + call("2", "ping"));
  CHECK(has(c.line(), "\"id\":2"));
  CHECK(eventually([&] { return server.slept == 1; }));
}

TEST_CASE("connection: an id in flight is refused with id null") {
  running_server server;
  auto c = server.connect();
  c.send(call("1", "sleep") + call("1", "ping"));
  const std::string reply = c.line();
  CHECK(has(reply, "-32600"));
  CHECK(has(reply, "\"id\":null"));
}

TEST_CASE("connection: cancelling answers -32800 once the call has ended, and only once") {
  running_server server;
  auto c = server.connect();
  c.send(call("1", "sleep"));
  c.send(R"({"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}})"
         "\n");
  const std::string reply = c.line();
  CHECK(has(reply, "\"id\":1"));
  CHECK(has(reply, "-32800"));
  CHECK(server.sleeps_ended == 1);
  c.send(R"({"jsonrpc":"2.0","id":2,"method":"rpc.cancel","params":{"id":1}})"
         "\n");
  CHECK(has(c.line(), "\"cancelled\":false"));
  c.send(call("3", "stubborn"));
  c.send(R"({"jsonrpc":"2.0","id":4,"method":"rpc.cancel","params":{"id":3}})"
         "\n");
  CHECK(has(c.line(), "\"cancelled\":true"));
  CHECK(has(c.line(), "-32800"));
}

TEST_CASE("connection: a barrier takes effect before later calls start, cancels act meanwhile") {
  running_server server;
  auto c = server.connect();
  c.send(call("1", "barrier") + call("2", "ping") + call("3", "sleep"));
  c.send(R"({"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":3}})"
         "\n");
  const std::string first = c.line();
  CHECK(has(first, "\"id\":3"));
  CHECK(has(first, "-32800"));
  CHECK(has(c.line(), "\"id\":1"));
  CHECK(has(c.line(), "\"id\":2"));
  CHECK(server.slept == 0);
}

TEST_CASE("connection: batches are answered as one array, notifications never") {
  running_server server;
  auto c = server.connect();
  c.send(
      R"([{"jsonrpc":"2.0","id":1,"method":"barrier"},{"jsonrpc":"2.0","method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"},7])"
      "\n");
  const std::string reply = c.line();
  CHECK(reply.front() == '[');
  CHECK(has(reply, "\"id\":1"));
  CHECK(has(reply, "\"id\":2"));
  CHECK(has(reply, "-32600"));
  c.send(R"([{"jsonrpc":"2.0","method":"ping"},{"jsonrpc":"2.0","method":"no.such"}])"
         "\n");
  c.send(call("9", "ping"));
  CHECK(has(c.line(), "\"id\":9"));
}

TEST_CASE("connection: notifications and requests to the client") {
  running_server server;
  auto c = server.connect();
  c.send(call("1", "notify"));
  std::string all = c.line() + c.line() + c.line();
  CHECK(has(all, R"("method":"hello")"));
  CHECK(has(all, "$/progress"));
  CHECK(has(all, "half way"));
  c.send(call("2", "ask"));
  const std::string question = c.line();
  CHECK(has(question, R"("method":"question")"));
  const auto at = question.find("\"id\":");
  const std::string id = question.substr(at + 5, question.find(',', at) - at - 5);
  c.send(R"({"jsonrpc":"2.0","id":)" + id +
         R"(,"result":{}})"
         "\n");
  CHECK(has(c.line(), "answered"));
}

TEST_CASE("connection: a half-closed client still gets its replies") {
  running_server server;
  auto c = server.connect();
  c.send(call("1", "barrier") + call("2", "ping"));
  c.half_close();
  std::string all;
  CHECK(c.read_to_end(all));
  CHECK(has(all, "\"id\":1"));
  CHECK(has(all, "\"id\":2"));
}

TEST_CASE("connection: a client that is gone ends its calls, half-closed or not") {
  running_server server;
  {
    auto c = server.connect();
    c.send(call("1", "sleep"));
    CHECK(eventually([&] { return server.slept == 1; }));
  }
  CHECK(eventually([&] { return server.sleeps_ended == 1; }));
  {
    auto c = server.connect();
    c.send(call("1", "sleep"));
    c.half_close();
    CHECK(eventually([&] { return server.slept == 2; }));
    CHECK(server.sleeps_ended == 1);
  }
  CHECK(eventually([&] { return server.sleeps_ended == 2; }));
  CHECK(eventually([&] { return server.services().count.connections == 0; }));
}

TEST_CASE("connection: a frame over the limit is answered -32600 with id null, then the end") {
  server_limits limits;
  limits.frame_bytes = 1000;
  running_server server(limits);
  auto c = server.connect();
  c.send(std::string(2'000'000, '1'));
  std::string all;
  CHECK(c.read_to_end(all));
  CHECK(has(all, "-32600"));
  CHECK(has(all, "\"id\":null"));
}

TEST_CASE("connection: a frame too deep is answered -32600 and the connection lives on") {
  running_server server;
  auto c = server.connect();
  c.send(std::string(100, '[') + std::string(100, ']') + "\n");
  CHECK(has(c.line(), "-32600"));
  c.send(call("1", "ping"));
  CHECK(has(c.line(), "pong"));
}

TEST_CASE("connection: a long frame is parsed off the reactor and answered in order") {
  running_server server;
  auto c = server.connect();
  c.send(R"({"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":")" + std::string(1 << 20, 'y') + "\"}}\n" +
         call("2", "ping"));
  CHECK(has(c.line(), "\"id\":1"));
  CHECK(has(c.line(), "\"id\":2"));
}

TEST_CASE("connection: descriptors belong to their frame, what nobody takes is closed") {
  running_server server;
  auto c = server.connect();
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  c.send(call("1", "fds"));
  c.send_with_fds(call("2", "fds"), {null, null, null});
  CHECK(has(c.line(), "\"result\":0"));
  CHECK(has(c.line(), "\"result\":3"));
  c.send_with_fds(call("3", "fds"), std::vector<int>(9, null));
  const std::string refused = c.line();
  CHECK(has(refused, "\"id\":3"));
  CHECK(has(refused, "-32600"));
  c.send_with_fds("[" + call("4", "fds").substr(0, call("4", "fds").size() - 1) + "]\n", {null});
  CHECK(has(c.line(), "\"result\":0"));
  ::close(null);
}

TEST_CASE("connection: a reply carries its descriptor") {
  running_server server;
  auto c = server.connect();
  c.send(call("1", "give"));
  char bytes[256];
  iovec part{bytes, sizeof bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  CHECK(::recvmsg(c.fd(), &message, MSG_CMSG_CLOEXEC) > 0);
  cmsghdr* found = CMSG_FIRSTHDR(&message);
  REQUIRE(found != nullptr);
  int number = -1;
  std::memcpy(&number, CMSG_DATA(found), sizeof number);
  CHECK(::fcntl(number, F_GETFD) >= 0);
  ::close(number);
}

TEST_CASE("connection: one that does not read is not read from, and gets everything later") {
  running_server server;
  auto c = server.connect();
  constexpr int calls = 200;
  std::string many;
  for (int i = 0; i < calls; ++i) many += call(std::to_string(i), "big");
  c.send(many);
  std::this_thread::sleep_for(200ms);
  auto other = server.connect();
  other.send(call("1", "ping"));
  CHECK(has(other.line(), "pong"));
  std::set<std::string> ids;
  for (int i = 0; i < calls; ++i) {
    const std::string reply = c.line(20s);
    ids.insert(reply.substr(0, 30));
    CHECK(reply.size() > 1u << 20);
  }
  CHECK(ids.size() == calls);
}

TEST_CASE("connection: more requests than may run and wait pause the reading, none is lost") {
  running_server server;
  auto c = server.connect();
  std::string many;
  for (int i = 0; i < 600; ++i) many += call(std::to_string(i), i == 0 ? "barrier" : "ping");
  std::thread writer([&] { c.send(many); });
  std::set<std::string> replies;
  for (int i = 0; i < 600; ++i) replies.insert(c.line());
  writer.join();
  CHECK(replies.size() == 600);
}

TEST_CASE("server: draining answers calls in flight and later ones with shutting_down") {
  running_server server;
  auto c = server.connect();
  c.send(call("1", "sleep"));
  CHECK(eventually([&] { return server.slept == 1; }));
  server.drain();
  CHECK(has(c.line(), "-32013"));
  CHECK(eventually([&] { return server.drained.load(); }));
  c.send(call("2", "ping"));
  CHECK(has(c.line(), "-32013"));
  CHECK_FALSE(has(server.connect().line(100ms), "x"));
}
