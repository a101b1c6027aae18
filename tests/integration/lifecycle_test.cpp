// Start and stop of the daemon: its socket, its lock, its flags, its configuration.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <sstream>
#include <thread>

#include "tests/support/harness/daemon.hpp"
#include "tests/support/harness/row.hpp"

using namespace sbx::test;

namespace {

mode_t mode_of(const std::string& path) {
  struct stat info {};
  REQUIRE(::lstat(path.c_str(), &info) == 0);
  return info.st_mode & 07777;
}

run_result second_sbxd(const test_daemon& d, std::vector<std::string> arguments = {}) {
  arguments.insert(arguments.begin(), program("sbxd"));
  return run(arguments, d.environment(), "", "/", 15000ms, true);
}

sbx::sys::unique_fd listen_at(const std::string& path) {
  sbx::sys::unique_fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  REQUIRE(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(fd.get(), 8) == 0);
  if (running_as_root()) REQUIRE(::chown(path.c_str(), daemon_ids().uid, daemon_ids().gid) == 0);
  return fd;
}

}  // namespace

TEST_SUITE_BEGIN("every");

TEST_CASE("lifecycle: the runtime directory is 0700 and the socket 0600, whatever the umask") {
  daemon_options options;
  options.before_exec = [] { ::umask(0); };
  test_daemon d(std::move(options));
  CHECK(mode_of(d.directory() + "/run/sbxd") == 0700);
  CHECK(mode_of(d.socket()) == 0600);
}

TEST_CASE("lifecycle: SIGTERM and SIGINT end it cleanly, with nothing to do and with much") {
  for (const int number : {SIGTERM, SIGINT}) {
    test_daemon d;
    client c = d.connect();
    d.signal(number);
    const int status = d.wait();
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
    CHECK(c.closed());
    CHECK(!exists(d.socket()));
    CHECK(exists(d.socket() + ".lock"));
  }
}

TEST_SUITE_END();
TEST_SUITE_BEGIN("once");

TEST_CASE("lifecycle: a second daemon on the same socket says that one is running, even when the file is gone") {
  test_daemon d;
  run_result second = second_sbxd(d);
  CHECK(second.status > 0);
  CHECK(second.err.find("running") != std::string::npos);
  CHECK(d.connect().call("system.ping")["pong"] == true);
  REQUIRE(::rename(d.socket().c_str(), (d.socket() + ".away").c_str()) == 0);
  second = second_sbxd(d);
  CHECK(second.status > 0);
  CHECK(second.err.find("running") != std::string::npos);
  REQUIRE(::rename((d.socket() + ".away").c_str(), d.socket().c_str()) == 0);
}

TEST_CASE("lifecycle: the socket that a killed daemon left is replaced; a foreign file and a living socket are not") {
  test_daemon d;
  d.kill_now();
  CHECK(exists(d.socket()));
  d.start();
  CHECK(d.connect().call("system.ping")["pong"] == true);
  d.stop();

  write_file(d.socket(), "somebody's file");
  CHECK(second_sbxd(d).status > 0);
  CHECK(read_file(d.socket()) == "somebody's file");
  ::unlink(d.socket().c_str());

  const auto living = listen_at(d.socket());
  CHECK(second_sbxd(d).status > 0);
  CHECK(exists(d.socket()));
  ::unlink(d.socket().c_str());
}

TEST_CASE("lifecycle: a socket that was replaced by another is not removed at the end") {
  test_daemon d;
  ::unlink(d.socket().c_str());
  write_file(d.socket(), "another's");
  const int status = d.stop();
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  CHECK(read_file(d.socket()) == "another's");
  ::unlink(d.socket().c_str());
}

TEST_CASE("lifecycle: a socket path over 107 bytes is refused, one of 107 works") {
  test_daemon d;
  const std::string base = d.directory() + "/run/";
  const std::string fits = base + std::string(107 - base.size(), 'x');
  const run_result refused = second_sbxd(d, {"--socket", fits + "x"});
  CHECK(refused.status > 0);
  CHECK(refused.err.find("long") != std::string::npos);
  daemon_options options;
  options.wait_ready = false;
  options.arguments = {"--socket", fits};
  test_daemon other(std::move(options));
  CHECK(eventually([&] { return exists(fits); }));
  CHECK(eventually([&] { return client(fits).call("system.ping")["pong"] == true; }));
  other.stop();
  CHECK(!exists(fits));
}

TEST_CASE("lifecycle: a socket handed over by the service manager is used and not removed") {
  const std::string path = "/tmp/sbx-it-activated-" + random_word();
  auto listener = std::make_shared<sbx::sys::unique_fd>(listen_at(path));
  daemon_options options;
  options.before_exec = [listener] {
    ::dup2(listener->get(), 3);
    ::fcntl(3, F_SETFD, 0);
    ::setenv("LISTEN_FDS", "1", 1);
  };
  // LISTEN_PID is only known in the child: a shell sets it and becomes the daemon.
  char directory[] = "/tmp/sbx-it-programs-XXXXXX";
  REQUIRE(::mkdtemp(directory) != nullptr);
  ::chmod(directory, 0755);
  write_file(std::string(directory) + "/sbxd",
             "#!/bin/sh\nexport LISTEN_PID=$$ LISTEN_FDS=1\nexec " + program("sbxd") + " \"$@\"\n", 0755);
  options.programs = directory;
  {
    test_daemon d(std::move(options));
    CHECK(client(path).call("system.ping")["pong"] == true);
    CHECK(!exists(d.socket()));
    d.stop();
    CHECK(exists(path));
  }
  ::unlink(path.c_str());
  run({"rm", "-rf", directory});
}

TEST_CASE("lifecycle: a peer of another user is closed at once") {
  if (!running_as_root()) skip("root", "needs a second user");
  if (as_ordinary_user()) skip("root", "the row of root");
  test_daemon d;
  ::chmod((d.directory() + "/run").c_str(), 0755);
  ::chmod((d.directory() + "/run/sbxd").c_str(), 0755);
  ::chmod(d.socket().c_str(), 0666);
  ::setenv("SBX_TEST_USER", "user", 1);
  const std::string script = "{ echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"system.ping\"}'; sleep 1; } | " +
                             program("sbxctl") + " --socket " + d.socket() + " ping";
  const run_result answer = run({"bash", "-c", script}, {}, "", "/", 20000ms, true);
  ::setenv("SBX_TEST_USER", "root", 1);
  CHECK(answer.status == 125);
  CHECK(answer.out.find("pong") == std::string::npos);
}

TEST_CASE("lifecycle: descriptors running out pauses accepting, without spinning, and existing clients go on") {
  daemon_options options;
  options.before_exec = [] {
    const rlimit few{64, 64};
    ::setrlimit(RLIMIT_NOFILE, &few);
  };
  test_daemon d(std::move(options));
  client first = d.connect();
  CHECK(first.call("system.ping")["pong"] == true);
  std::vector<client> many;
  for (int i = 0; i < 80; ++i) many.push_back(d.connect());
  const auto cpu = [&] {
    const std::string stat = read_file("/proc/" + std::to_string(d.pid()) + "/stat");
    std::istringstream fields(stat.substr(stat.rfind(')') + 2));
    std::string word;
    long user = 0, system = 0;
    for (int i = 0; i < 11; ++i) fields >> word;
    fields >> user >> system;
    return user + system;
  };
  const long before = cpu();
  for (int i = 0; i < 10; ++i) {
    CHECK(first.call("system.ping")["pong"] == true);
    std::this_thread::sleep_for(50ms);
  }
  CHECK(cpu() - before < 20);
  many.clear();
  CHECK(eventually([&] {
    client c = d.connect();
    const int id = c.start("system.ping");
    return c.has_reply(id, 1000ms);
  }));
}

TEST_CASE("lifecycle: flags: version, check-config, print-config, and what is wrong is said with its place") {
  test_daemon d;
  CHECK(second_sbxd(d, {"--version"}).status == 0);
  const run_result printed = second_sbxd(d, {"--print-config"});
  CHECK(printed.status == 0);
  CHECK(json::parse(printed.out, nullptr, false, true).is_object());
  const std::string file = d.directory() + "/other.json";
  write_file(file, "{\n  // a comment\n  \"limits\": {\"max_jobs\": 3}\n}\n");
  CHECK(second_sbxd(d, {"--config", file, "--check-config"}).status == 0);
  write_file(file, R"({"limits": {"max_jobz": 3}})");
  run_result bad = second_sbxd(d, {"--config", file, "--check-config"});
  CHECK(bad.status > 0);
  CHECK((bad.err + bad.out).find("/limits/max_jobz") != std::string::npos);
  write_file(file, "{ \"limits\": ");
  CHECK(second_sbxd(d, {"--config", file, "--check-config"}).status > 0);
  CHECK(second_sbxd(d, {"--config", d.directory() + "/none.json", "--check-config"}).status > 0);
  CHECK(second_sbxd(d, {"--no-such-flag"}).status > 0);
  CHECK(second_sbxd(d, {"--orphan-ttl", "5", "--socket", d.directory() + "/run/o"}).status > 0);
}

TEST_CASE("lifecycle: SIGHUP rereads the configuration; a broken one changes nothing") {
  daemon_options options;
  options.config = R"({"profiles": {"default": {"env": {"V": "one"}}}})";
  test_daemon d(std::move(options));
  client c = d.connect();
  const auto value = [&](const std::string& name) {
    const std::string workspace =
        c.call("workspace.open", {{"roots", {d.make_root(name)}}, {"backend", "none"}})["workspace"];
    return bytes_of(c.call("exec.run", {{"workspace", workspace}, {"command", "echo $V"}})["stdout"]);
  };
  CHECK(value("a") == "one\n");
  write_file(d.directory() + "/config.json", R"({"profiles": {"default": {"env": {"V": "two"}}}})");
  d.signal(SIGHUP);
  int round = 0;
  CHECK(eventually([&] { return value("b" + std::to_string(round++)) == "two\n"; }));
  write_file(d.directory() + "/config.json", "{");
  d.signal(SIGHUP);
  std::this_thread::sleep_for(200ms);
  CHECK(value("c") == "two\n");
}

TEST_SUITE_END();
TEST_SUITE_BEGIN("none");

TEST_CASE("lifecycle: without a place for its socket an ordinary user's refuses to start") {
  if (!as_ordinary_user()) return;
  if (exists("/run/user/" + std::to_string(daemon_ids().uid))) return;
  const run_result answer = run({program("sbxd")}, {"PATH=/usr/bin:/bin", "HOME=/nonexistent"}, "", "/", 10000ms, true);
  CHECK(answer.status > 0);
  CHECK(!answer.err.empty());
}

TEST_SUITE_END();
