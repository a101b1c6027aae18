// Whatever arrives on the socket: a typed error or a closed connection, never a crash, a hang or growth.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <thread>

#include "tests/support/harness/daemon.hpp"
#include "tests/support/harness/row.hpp"

using namespace sbx::test;

namespace {

// Sends bytes and takes whatever comes, without expecting anything of it.
void throw_at(const test_daemon& d, std::string_view bytes, const std::vector<int>& fds = {}) {
  client c = d.connect();
  ::fcntl(c.fd(), F_SETFL, O_NONBLOCK);
  static_cast<void>(c.try_send_bytes(bytes, fds));
  ::shutdown(c.fd(), SHUT_WR);
  char block[4096];
  ::fcntl(c.fd(), F_SETFL, 0);
  timeval patience{5, 0};
  ::setsockopt(c.fd(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  const auto start = clock::now();
  while (::recv(c.fd(), block, sizeof block, 0) > 0) CHECK(since_ms(start) < 5000);
  CHECK(since_ms(start) < 5000);
}

void still_well(const test_daemon& d) {
  CHECK(d.connect().call("system.ping")["pong"] == true);
}

}  // namespace

TEST_SUITE_BEGIN("once");

TEST_CASE("hostile bytes: random ones, in every framing") {
  test_daemon d;
  std::mt19937 engine(11);
  throw_at(d, "x\n");
  const auto before = resident_kb(d.pid());
  const int descriptors = open_descriptors(d.pid());
  for (int i = 0; i < 600; ++i) {
    std::string bytes(1 + engine() % 3000, '\0');
    for (char& c : bytes) c = static_cast<char>(engine());
    if (i % 3 == 1) bytes.insert(0, "Content-Length: " + std::to_string(engine() % 2000) + "\r\n\r\n");
    if (i % 3 == 2) bytes.insert(0, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"");
    throw_at(d, bytes);
  }
  still_well(d);
  CHECK(eventually([&] { return open_descriptors(d.pid()) <= descriptors; }));
  CHECK(resident_kb(d.pid()) - before < 8000);
}

TEST_CASE("hostile bytes: mutations of real requests") {
  test_daemon d;
  std::mt19937 engine(12);
  const std::string seeds[] = {
      R"({"jsonrpc":"2.0","id":1,"method":"workspace.open","params":{"roots":["/tmp"],"backend":"none","env":{"A":null}}})",
      R"({"jsonrpc":"2.0","id":"x","method":"exec.run","params":{"workspace":"ws-0","argv":["true",{"base64":"/w=="}],"stdin":{"fd":0}}})",
      R"([{"jsonrpc":"2.0","id":1,"method":"system.stats"},{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}])",
      R"({"jsonrpc":"2.0","id":2,"method":"session.attach","params":{"session":"ses-0123456789abcdef0123456789abcdef"}})"};
  for (int i = 0; i < 1500; ++i) {
    std::string text = seeds[engine() % 4];
    for (unsigned k = 1 + engine() % 4; k > 0; --k) {
      const std::size_t at = engine() % text.size();
      switch (engine() % 4) {
        case 0:
          text[at] = static_cast<char>(engine());
          break;
        case 1:
          text.erase(at, 1 + engine() % 5);
          break;
        case 2:
          text.insert(at, text.substr(engine() % text.size(), engine() % 20));
          break;
        default:
          text.insert(at, 1, "{}[]\",:\\0e-"[engine() % 11]);
          break;
      }
      if (text.empty()) text = "{";
    }
    throw_at(d, text + "\n");
  }
  still_well(d);
}

TEST_CASE("hostile bytes: a request byte by byte is as good as in one piece; a slow one holds up nobody") {
  test_daemon d;
  client slow = d.connect(), other = d.connect();
  for (const char c : std::string(R"({"jsonrpc":"2.0","id":1,"method":"system.ping"})")) {
    slow.send_bytes(std::string_view(&c, 1));
  }
  CHECK(other.call("system.ping")["pong"] == true);
  slow.send_bytes("\n");
  CHECK(slow.result(1)["pong"] == true);
}

TEST_CASE("hostile bytes: a client that sends and never reads is not buffered for without end") {
  test_daemon d;
  still_well(d);
  const auto before = resident_kb(d.pid());
  std::vector<client> greedy;
  for (int i = 0; i < 4; ++i) {
    greedy.push_back(d.connect());
    ::fcntl(greedy.back().fd(), F_SETFL, O_NONBLOCK);
  }
  const std::string request = R"({"jsonrpc":"2.0","id":1,"method":"rpc.discover"})"
                              "\n";
  std::string many;
  for (int i = 0; i < 400; ++i) many += request;
  const auto end = clock::now() + 3s;
  while (clock::now() < end) {
    for (client& c : greedy) static_cast<void>(c.try_send_bytes(many));
    const auto start = clock::now();
    still_well(d);
    CHECK(since_ms(start) < 2000);
    std::this_thread::sleep_for(20ms);
  }
  CHECK(resident_kb(d.pid()) - before < 150000);
}

TEST_CASE("hostile bytes: a thousand connections that come and go in the middle of a frame") {
  test_daemon d;
  still_well(d);
  const int descriptors = open_descriptors(d.pid());
  for (int i = 0; i < 1000; ++i) {
    client c = d.connect();
    c.send_bytes(i % 2 ? "Content-Length: 100\r\n\r\n{" : "{\"jsonrpc\":\"2.0\",\"id\":");
  }
  CHECK(eventually([&] { return open_descriptors(d.pid()) <= descriptors; }));
  still_well(d);
}

TEST_CASE("hostile descriptors: strange ones, too many, without a frame, none is kept") {
  test_daemon d;
  still_well(d);
  const int descriptors = open_descriptors(d.pid());
  for (int i = 0; i < 200; ++i) {
    pipe_ends ends = make_pipe();
    std::vector<int> fds(static_cast<std::size_t>(1 + i % 20), ends.write.get());
    fds.push_back(d.connect().fd() >= 0 ? ends.read.get() : ends.write.get());
    const char* texts[] = {"\n", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"system.ping\"}\n", "{", "[]\n",
                           "Content-Length: 2\r\n\r\n[]"};
    throw_at(d, texts[i % 5], fds);
  }
  // A connection to the daemon itself, passed to the daemon, must not keep itself alive.
  for (int i = 0; i < 50; ++i) {
    client a = d.connect(), b = d.connect();
    a.send_bytes("{", {b.fd(), a.fd()});
    b.send_bytes("{", {a.fd(), b.fd()});
  }
  CHECK(eventually([&] { return open_descriptors(d.pid()) <= descriptors; }));
  still_well(d);
}

TEST_SUITE_END();
