// How a command ends, and why one does not start: told as values, the same on every backend.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/harness/daemon.hpp"
#include "tests/support/harness/row.hpp"

using namespace sbx::test;

TEST_SUITE_BEGIN("every");

TEST_CASE("exit: codes, signals and an ordinary exit 137 are told apart") {
  world w;
  for (const int code : {0, 1, 42, 255}) {
    const json end = w.sh("exit " + std::to_string(code))["exit"];
    CHECK(end["outcome"] == "exited");
    CHECK(end["code"] == code);
    CHECK(end["signal"].is_null());
  }
  json end = w.sh("exit 137")["exit"];
  CHECK(end["outcome"] == "exited");
  CHECK(end["code"] == 137);
  CHECK(end["signal"].is_null());

  end = w.sh("kill -KILL $$")["exit"];
  CHECK(end["outcome"] == "signaled");
  CHECK(end["code"] == 137);
  CHECK(end["signal"] == "SIGKILL");

  end = w.sh("kill -SEGV $$")["exit"];
  CHECK(end["outcome"] == "signaled");
  CHECK(end["code"] == 139);
  CHECK(end["signal"] == "SIGSEGV");

  end = w.sh("kill -37 $$")["exit"];
  CHECK(end["code"] == 165);
  CHECK(end["signal"] == "SIGRTMIN+3");
}

TEST_CASE("exit: TERM ends a command without a handler, which is therefore not pid 1") {
  world w;
  const json answer = w.sh("kill -TERM $$; echo survived");
  CHECK(answer["exit"]["signal"] == "SIGTERM");
  CHECK(answer["exit"]["code"] == 143);
  CHECK(bytes_of(answer["stdout"]).empty());
}

TEST_CASE("exit: duration and usage are told") {
  world w;
  const json end = w.sh("sleep 0.2; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done")["exit"];
  CHECK(end["duration_ms"].get<int>() >= 200);
  CHECK(end["duration_ms"].get<int>() < 20000);
  CHECK(end["usage"]["user_ms"].is_number_integer());
  CHECK(end["usage"]["system_ms"].is_number_integer());
  CHECK(end["usage"]["max_rss_bytes"].get<std::int64_t>() > 500000);
}

TEST_CASE("exit: yes | head -1 sees the broken pipe") {
  world w;
  CHECK(w.out("yes | head -1 >/dev/null; echo ${PIPESTATUS[0]}") == "141\n");
}

TEST_CASE("exit: each way a command fails to start has its own reason") {
  world w;
  write_file(w.root + "/plain", "text\n", 0644);
  write_file(w.root + "/wrong", "#!/no/such/interpreter\n", 0755);
  write_file(w.root + "/noise", std::string("\x01\x02\x03 no program\n", 16), 0755);
  write_file(w.root + "/script", "echo hi\n", 0755);

  const auto failure = [&](std::vector<std::string> argv, const std::string& cwd = "") {
    json params = {{"workspace", w.workspace}, {"argv", argv}};
    if (!cwd.empty()) params["cwd"] = cwd;
    const json error = w.c.refused("exec.run", params);
    CHECK(error["code"] == -32008);
    CHECK(error["data"]["kind"] == "spawn_failed");
    CHECK(error["data"]["errno"].is_string());
    return error["data"]["stage"].get<std::string>() + " " + error["data"]["reason"].get<std::string>();
  };
  CHECK(failure({"no-such-program-anywhere"}) == "exec not_found");
  CHECK(failure({"/no/such/path"}) == "exec not_found");
  CHECK(failure({w.root + "/plain"}) == "exec not_executable");
  CHECK(failure({w.root}) == "exec not_executable");
  CHECK(failure({w.root + "/wrong"}) == "exec bad_interpreter");
  CHECK(failure({w.root + "/noise"}) == "exec bad_format");
  CHECK(failure({"/bin/true"}, w.root + "/missing") == "cwd bad_cwd");
  CHECK(failure({"/bin/true"}, w.root + "/plain") == "cwd bad_cwd");
  CHECK(w.run({"/bin/true"})["exit"]["code"] == 0);
}

TEST_CASE("exit: argument strings of 131071 bytes pass and one byte more is too_big") {
  world w;
  json answer = w.run({"/usr/bin/printf", "%s", std::string(131071, 'x')});
  CHECK(answer["exit"]["code"] == 0);
  CHECK(answer["stdout"]["total_bytes"] == 131071);
  const json error = w.c.refused(
      "exec.run", {{"workspace", w.workspace}, {"argv", {"/usr/bin/printf", "%s", std::string(131072, 'x')}}});
  CHECK(error["data"]["kind"] == "spawn_failed");
  CHECK(error["data"]["reason"] == "too_big");
  CHECK(error["data"]["errno"] == "E2BIG");

  answer = w.run({"/usr/bin/env"}, {{"env", {{"BIG", std::string(131071 - 4, 'y')}}}, {"max_output_bytes", 1 << 20}});
  CHECK(answer["exit"]["code"] == 0);
  CHECK(w.c.refused("exec.run", {{"workspace", w.workspace},
                                 {"argv", {"/usr/bin/env"}},
                                 {"env", {{"BIG", std::string(131072 - 4, 'y')}}}})["data"]["reason"] == "too_big");
}

TEST_CASE("exit: exactly one of argv and command, and neither may be empty") {
  world w;
  const auto fault = [&](json params) {
    params["workspace"] = w.workspace;
    const json error = w.c.refused("exec.run", params);
    CHECK(error["code"] == -32602);
    return error["data"]["kind"].get<std::string>();
  };
  CHECK(fault(json::object()) == "invalid_params");
  CHECK(fault({{"argv", {"true"}}, {"command", "true"}}) == "invalid_params");
  CHECK(fault({{"argv", json::array()}}) == "invalid_params");
  CHECK(fault({{"argv", {"a", std::string("b\0c", 3)}}}) == "invalid_params");
  CHECK(fault({{"command", std::string("echo\0x", 6)}}) == "invalid_params");
  CHECK(fault({{"argv", {"true"}}, {"env", {{"A=B", "x"}}}}) == "invalid_params");
  CHECK(fault({{"argv", {"true"}}, {"env", {{"", "x"}}}}) == "invalid_params");
  CHECK(fault({{"argv", {"true"}}, {"bogus", 1}}) == "invalid_params");
  CHECK(fault({{"argv", {"true"}}, {"max_output_bytes", 5 << 20}}) == "invalid_params");
}

TEST_CASE("exit: a command is looked up in its own PATH") {
  world w;
  ::mkdir((w.root + "/bin").c_str(), 0755);
  write_file(w.root + "/bin/sbx-own-tool", "#!/bin/sh\necho mine\n", 0755);
  CHECK(w.c.kind("exec.run", {{"workspace", w.workspace}, {"argv", {"sbx-own-tool"}}}) == "spawn_failed");
  const json answer = w.run({"sbx-own-tool"}, {{"env", {{"PATH", w.root + "/bin:/usr/bin:/bin"}}}});
  CHECK(bytes_of(answer["stdout"]) == "mine\n");
  // The shell of `command` comes from the sandbox's own PATH, not from the call's.
  write_file(w.root + "/bin/bash", "#!/bin/sh\necho forged\n", 0755);
  CHECK(w.out("echo real", {{"env", {{"PATH", w.root + "/bin:/usr/bin:/bin"}}}}) == "real\n");
}

TEST_CASE("exit: nothing that begins with a dash becomes an option") {
  world w;
  ::mkdir((w.root + "/-dir").c_str(), 0755);
  CHECK(w.run({"/bin/echo", "--", "-n", "--args"})["exit"]["code"] == 0);
  CHECK(bytes_of(w.run({"/usr/bin/printf", "%s\\n", "--chdir"}, {{"env", {{"-u", "--unset"}}}})["stdout"]) ==
        "--chdir\n");
  CHECK(bytes_of(w.run({"pwd"}, {{"cwd", "-dir"}})["stdout"]) == w.root + "/-dir\n");
  CHECK(w.c.kind("exec.run", {{"workspace", w.workspace}, {"argv", {"--version"}}}) == "spawn_failed");
  const json answer = w.sh("-x");
  CHECK(answer["exit"]["code"] == 127);
}

TEST_CASE("exit: bytes that are no UTF-8 pass exactly in argv and env") {
  world w;
  const std::string bytes = "\xff\xfe caf\xe9";
  const json answer =
      w.c.call("exec.run", {{"workspace", w.workspace},
                            {"argv", {"/bin/sh", "-c", "printf '%s|%s' \"$0\" \"$V\"", {{"base64", to_base64(bytes)}}}},
                            {"env", {{"V", {{"base64", to_base64("\x80v")}}}}}});
  CHECK(answer["stdout"]["encoding"] == "base64");
  CHECK(bytes_of(answer["stdout"]) == bytes + "|\x80v");
}

TEST_CASE("exit: cwd is the first root by default, relative to it, and never outside") {
  world w;
  ::mkdir((w.root + "/sub").c_str(), 0755);
  ::symlink("/etc", (w.root + "/out").c_str());
  ::symlink("sub", (w.root + "/in").c_str());
  CHECK(w.out("pwd -P") == w.root + "\n");
  CHECK(w.out("pwd -P", {{"cwd", "sub"}}) == w.root + "/sub\n");
  CHECK(w.out("pwd -P", {{"cwd", "in"}}) == w.root + "/sub\n");
  CHECK(w.out("pwd -P", {{"cwd", w.root + "/sub"}}) == w.root + "/sub\n");
  for (const std::string cwd : {"/etc", "/", "..", "out", "sub/../..", "/no-such-directory"}) {
    CAPTURE(cwd);
    CHECK(w.c.kind("exec.run", {{"workspace", w.workspace}, {"argv", {"true"}}, {"cwd", cwd}}) == "denied");
  }
}

TEST_SUITE_END();
