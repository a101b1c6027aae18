// A bubblewrap that can not do its work: the workspace says why and what to do, and no command ever "exits 1" of it.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/harness/daemon.hpp"
#include "tests/support/harness/row.hpp"

using namespace sbx::test;

namespace {

// A daemon whose PATH begins with a directory that holds a stand-in for bwrap.
struct stubbed {
  explicit stubbed(const std::string& script) {
    char pattern[] = "/tmp/sbx-it-stub-XXXXXX";
    REQUIRE(::mkdtemp(pattern) != nullptr);
    directory = pattern;
    ::chmod(pattern, 0755);
    write_file(directory + "/bwrap", script, 0755);
    daemon_options options;
    options.env["PATH"] = directory + ":/usr/bin:/bin";
    host = std::make_unique<test_daemon>(std::move(options));
  }
  ~stubbed() {
    host.reset();
    run({"rm", "-rf", directory});
  }
  json refusal() {
    client c = host->connect();
    const json opened = c.reply(c.start("workspace.open", {{"roots", {host->make_root("r" + random_word())}}}));
    if (opened.contains("error")) return opened["error"];
    return c.refused("exec.run", {{"workspace", opened["result"]["workspace"]}, {"argv", {"true"}}}, {}, 30000ms);
  }
  std::string directory;
  std::unique_ptr<test_daemon> host;
};

std::string script(const std::string& body) {
  return "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'bubblewrap 0.8.0'; exit 0; fi\n" + body + "\n";
}

}  // namespace

TEST_SUITE_BEGIN("once");

TEST_CASE("bwrap stub: the messages of a host that forbids user namespaces get their remedy") {
  for (const std::string message :
       {"bwrap: setting up uid map: Permission denied", "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted",
        "bwrap: No permissions to create a new namespace, likely because the kernel does not allow non-privileged user "
        "namespaces. "
        "On e.g. debian this can be enabled with 'sysctl kernel.unprivileged_userns_clone=1'."}) {
    CAPTURE(message);
    stubbed s(script("echo '" + [&] {
      std::string m = message;
      for (std::size_t at = 0; (at = m.find('\'', at)) != std::string::npos; at += 4) m.replace(at, 1, "'\\''");
      return m;
    }() + "' >&2; exit 1"));
    const json error = s.refusal();
    CHECK(error["code"] == -32006);
    CHECK(error["data"]["kind"] == "sandbox_unavailable");
    CHECK(error["data"]["backend"] == "bwrap");
    CHECK(error["data"]["cause"].get<std::string>().find(message.substr(7, 20)) != std::string::npos);
    CHECK(error["data"]["remedy"].get<std::string>().size() > 10);
    CHECK(error["data"]["retryable"].is_boolean());
  }
}

TEST_CASE("bwrap stub: one that dies, is silent, or hangs") {
  CHECK(stubbed(script("kill -9 $$")).refusal()["data"]["kind"] == "sandbox_unavailable");
  CHECK(stubbed(script("exit 0")).refusal()["data"]["kind"] == "sandbox_unavailable");
  CHECK(stubbed(script("head -c 10000000 /dev/zero >&2; exit 1")).refusal()["data"]["kind"] == "sandbox_unavailable");
  const auto start = clock::now();
  CHECK(stubbed(script("exec sleep 600")).refusal()["data"]["kind"] == "sandbox_unavailable");
  CHECK(since_ms(start) < 25000);
}

TEST_CASE("bwrap stub: too old, or none at all") {
  const json old = stubbed("#!/bin/sh\necho 'bubblewrap 0.4.1'\n").refusal();
  CHECK(old["data"]["kind"] == "sandbox_unavailable");
  CHECK(old["data"]["remedy"].is_string());
  daemon_options options;
  options.env["PATH"] = "/nonexistent";
  test_daemon d(std::move(options));
  client c = d.connect();
  const json info = c.call("system.info");
  CHECK(info["backends"]["bwrap"]["available"] == false);
  CHECK(info["backends"]["bwrap"]["remedy"].is_string());
  const json opened = c.reply(c.start("workspace.open", {{"roots", {d.make_root()}}}));
  const json error = opened.contains("error")
                         ? opened["error"]
                         : c.refused("exec.run", {{"workspace", opened["result"]["workspace"]}, {"argv", {"true"}}});
  CHECK(error["data"]["kind"] == "sandbox_unavailable");
}

TEST_SUITE_END();
