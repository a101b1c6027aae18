// Whatever bytes arrive: a typed error or a closed connection.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>

#include <filesystem>
#include <random>

#include "tests/unit/rpc/fixture.hpp"

using namespace sbx::rpc;
using namespace sbx::rpc::test;

namespace {

const char* const pieces[] = {"{",
                              "}",
                              "[",
                              "]",
                              "\"jsonrpc\":\"2.0\"",
                              ",",
                              "\"id\":1",
                              "\n",
                              "\r\n",
                              "\"method\":",
                              "\"ping\"",
                              "\"sleep\"",
                              "\xff\xfe",
                              "\\u0000",
                              "1e999",
                              "Content-Length: 5\r\n\r\n",
                              "Content-Length: -1\r\n\r\n",
                              "\"params\":{}",
                              "null",
                              "\"\\ud800\"",
                              "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n",
                              "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":1}}\n"};

std::string random_stream(std::mt19937& random) {
  std::string made;
  if (random() % 4 == 0) made = "C";
  const auto count = random() % 200;
  for (unsigned i = 0; i < count; ++i) {
    if (random() % 8 == 0)
      made.push_back(static_cast<char>(random()));
    else
      made += pieces[random() % std::size(pieces)];
  }
  return made;
}

bool answers_ping(running_server& server) {
  auto c = server.connect();
  c.send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
  return c.line(10s).find("pong") != std::string::npos;
}

std::size_t open_fds() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

}  // namespace

TEST_CASE("hostile: random streams, with descriptors, cut anywhere, leave nothing behind") {
  running_server server;
  REQUIRE(answers_ping(server));
  const std::size_t before = open_fds();
  std::mt19937 random(20240607);
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  for (int round = 0; round < 300; ++round) {
    auto c = server.connect();
    REQUIRE(c.connected());
    const std::string stream = random_stream(random);
    const std::size_t cut = stream.empty() ? 0 : random() % stream.size();
    if (cut > 0 && random() % 3 == 0)
      c.send_with_fds(stream.substr(0, cut), std::vector<int>(1 + random() % 12, null));
    else
      c.send(stream.substr(0, cut), 100ms);
    c.send(stream.substr(cut), 100ms);
    if (random() % 2 == 0) c.half_close();
    if (random() % 4 == 0) c.line(1ms);
  }
  ::close(null);
  CHECK(answers_ping(server));
  for (int i = 0; i < 2000 && server.services().count.connections != 0; ++i) std::this_thread::sleep_for(5ms);
  CHECK(server.services().count.connections == 0);
  CHECK(server.slept == server.sleeps_ended);
  CHECK(open_fds() <= before);
}

TEST_CASE("hostile: out of descriptors, clients that are there go on and later ones are served afterwards") {
  running_server server;
  auto first = server.connect();
  first.send("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"ping\"}\n");
  REQUIRE(first.line().find("pong") != std::string::npos);
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  std::vector<client> crowd;
  crowd.reserve(64);
  rlimit tight = before;
  tight.rlim_cur = open_fds() + 20;
  ::setrlimit(RLIMIT_NOFILE, &tight);
  for (int i = 0; i < 40; ++i) {
    client c(server.path());
    if (!c.connected()) break;
    crowd.push_back(std::move(c));
  }
  std::this_thread::sleep_for(50ms);
  rusage used_before{}, used_after{};
  ::getrusage(RUSAGE_SELF, &used_before);
  first.send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
  CHECK(first.line().find("pong") != std::string::npos);
  std::this_thread::sleep_for(500ms);
  ::getrusage(RUSAGE_SELF, &used_after);
  const auto spent = (used_after.ru_utime.tv_sec - used_before.ru_utime.tv_sec) * 1000 +
                     (used_after.ru_utime.tv_usec - used_before.ru_utime.tv_usec) / 1000;
  CHECK(spent < 200);  // no spinning
  ::setrlimit(RLIMIT_NOFILE, &before);
  CHECK(answers_ping(server));
}

TEST_CASE("hostile: 300 connections at once, and one too many waits for a place") {
  server_limits limits;
  limits.connections = 300;
  running_server server(limits);
  std::vector<client> crowd;
  for (int i = 0; i < 300; ++i) crowd.push_back(server.connect());
  for (client& c : crowd) {
    c.send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
    REQUIRE(c.line().find("pong") != std::string::npos);
  }
  auto late = server.connect();
  late.send("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
  CHECK(late.line(100ms).empty());
  crowd.pop_back();
  CHECK(late.line().find("pong") != std::string::npos);
}
