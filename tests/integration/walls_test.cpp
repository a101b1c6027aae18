// What a command inside bwrap can not see, change or reach.
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <sstream>

#include "tests/support/harness/daemon.hpp"
#include "tests/support/harness/row.hpp"

using namespace sbx::test;

TEST_SUITE_BEGIN("bwrap");

TEST_CASE("walls: a command has no capability, and can gain none") {
  world w;
  CHECK(w.out("grep -E '^Cap(Inh|Prm|Eff|Bnd|Amb)' /proc/self/status | awk '{print $2}' | sort -u") ==
        "0000000000000000\n");
  CHECK(w.out("grep NoNewPrivs /proc/self/status") == "NoNewPrivs:\t1\n");
  CHECK(w.sh("unshare -Ur true")["exit"]["code"].is_number_integer());  // either way, never a capability on the host
  CHECK(w.sh("mount -t tmpfs none /mnt")["exit"]["code"] != 0);
  CHECK(w.sh("chown 12345 .")["exit"]["code"] != 0);
}

TEST_CASE("walls: /proc/sys can not be written") {
  world w;
  const std::string pattern = read_file("/proc/sys/kernel/core_pattern");
  CHECK(w.sh("echo '|/tmp/x' >/proc/sys/kernel/core_pattern")["exit"]["code"] != 0);
  CHECK(w.sh("echo x >/proc/sys/kernel/hostname")["exit"]["code"] != 0);
  CHECK(w.sh("echo 1 >/proc/sysrq-trigger")["exit"]["code"] != 0);
  CHECK(read_file("/proc/sys/kernel/core_pattern") == pattern);
}

TEST_CASE("walls: nothing is writable but the roots, home, /tmp and /dev/shm") {
  world w;
  for (const char* path : {"/", "/usr", "/usr/bin", "/etc", "/bin", "/lib", "/proc", "/dev", "/var", "/opt", "/sys"}) {
    CAPTURE(path);
    CHECK(w.sh("touch " + std::string(path) + "/sbx-probe")["exit"]["code"] != 0);
  }
  CHECK(w.out("touch probe \"$HOME/probe\" /tmp/probe /dev/shm/probe && echo yes") == "yes\n");
  CHECK(exists(w.root + "/probe"));
  CHECK(!exists("/tmp/probe"));
  CHECK(!exists("/dev/shm/probe"));
  struct stat info {};
  REQUIRE(::stat((w.root + "/probe").c_str(), &info) == 0);
  CHECK(info.st_uid == daemon_ids().uid);
  CHECK(info.st_gid == daemon_ids().gid);
  CHECK((info.st_mode & 0777) == 0644);
}

TEST_CASE("walls: the directories above a root show nothing else") {
  world w;
  write_file(w.host.directory() + "/roots/secret", "secret");
  CHECK(w.out("ls -A ..") == "root\n");
  CHECK(w.out("ls -A ../.. ") == "roots\n");
  CHECK(w.sh("cat ../secret")["exit"]["code"] != 0);
}

TEST_CASE("walls: the host's homes, secrets and sockets are not there") {
  world w;
  for (const char* path :
       {"/etc/shadow", "/root/.ssh", "/var/run/docker.sock", "/run/docker.sock", "/run/systemd", "/boot"}) {
    CAPTURE(path);
    CHECK(w.sh("test -e " + std::string(path))["exit"]["code"] != 0);
  }
  CHECK(w.sh("test -e '" + w.host.socket() + "'")["exit"]["code"] != 0);
  CHECK(w.sh("test -e '" + w.host.directory() + "/run'")["exit"]["code"] != 0);
  CHECK(w.out("cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -c do-not-leak; true") == "0\n");
  CHECK(w.out("cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' | grep -c [s]bxd; true") == "0\n");
}

TEST_CASE("walls: other workspaces' files and processes are invisible") {
  world w;
  const std::string other_root = w.host.make_root("other");
  write_file(other_root + "/theirs", "x");
  const std::string other = w.c.call("workspace.open", {{"roots", {other_root}}, {"backend", backend()}})["workspace"];
  const std::string mark = "sbx-mark-" + random_word();
  const int id = w.c.start(
      "exec.run",
      {{"workspace", other}, {"command", "touch /tmp/theirs; bash -c 'exec -a " + mark + " sleep 600'; true"}});
  await_marked(mark, 1);
  CHECK(w.sh("test -e " + other_root)["exit"]["code"] != 0);
  CHECK(w.sh("test -e /tmp/theirs")["exit"]["code"] != 0);
  CHECK(w.out("cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -c '^" + mark + "$'; true") == "0\n");
  w.c.notify("$/cancelRequest", {{"id", id}});
  w.c.error(id);
}

TEST_CASE("walls: commands of one workspace see each other and share /tmp") {
  world w;
  w.sh("echo shared >/tmp/note; sleep 600 >/dev/null 2>&1 &");
  CHECK(w.out("cat /tmp/note") == "shared\n");
  CHECK(w.out("pgrep -c sleep") == "1\n");
}

TEST_CASE("walls: no network but loopback, unless the host's is asked for") {
  world w;
  CHECK(w.out("tail -n +3 /proc/net/dev | awk '{print $1}'") == "lo:\n");
  CHECK(w.sh("exec 3<>/dev/tcp/192.0.2.1/80")["exit"]["code"] != 0);
  // Loopback is up, and is not the host's.
  CHECK(w.sh("exec 3<>/dev/udp/127.0.0.1/9 && echo x >&3")["exit"]["code"] == 0);
  const std::string inside = w.out("readlink /proc/self/ns/net");
  char host[64] = {};
  REQUIRE(::readlink("/proc/self/ns/net", host, sizeof host - 1) > 0);
  CHECK(inside != std::string(host) + "\n");

  const std::string open_root = w.host.make_root("open");
  const json opened = w.c.call("workspace.open", {{"roots", {open_root}}, {"backend", backend()}, {"network", "host"}});
  CHECK(opened["network"] == "host");
  const json answer =
      w.c.call("exec.run", {{"workspace", opened["workspace"]}, {"argv", {"readlink", "/proc/self/ns/net"}}});
  CHECK(bytes_of(answer["stdout"]) == std::string(host) + "\n");
}

TEST_CASE("walls: abstract sockets of the host can not be reached") {
  world w;
  const sbx::sys::unique_fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = "sbx-abstract-" + random_word();
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  REQUIRE(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address),
                 static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())) == 0);
  CHECK(w.out("grep -c " + name + " /proc/net/unix; true") == "0\n");
}

TEST_CASE("walls: the user is the daemon's own, with a name and a home") {
  world w;
  CHECK(w.out("id -u; id -g") == std::to_string(daemon_ids().uid) + "\n" + std::to_string(daemon_ids().gid) + "\n");
  CHECK(w.sh("whoami")["exit"]["code"] == 0);
  CHECK(w.out("cd && pwd -P && test -w . && echo ok").find("ok") != std::string::npos);
  CHECK(w.out("getent passwd | wc -l").size() > 1);
}

TEST_CASE("walls: ordinary tools find what they need") {
  world w;
  CHECK(w.out("ls -l / >/dev/null && date >/dev/null && git --version >/dev/null && echo ok") == "ok\n");
  CHECK(w.sh("printf '#include <stdio.h>\\nint main(void){puts(\"built\");return 0;}' >a.c && cc -o a a.c && ./a")
            ["stdout"]["data"] == "built\n");
  CHECK(w.out("mkfifo f && (echo x >f &) && cat f; test -c /dev/null && test -e /dev/urandom && test -d /dev/pts && "
              "echo dev") == "x\ndev\n");
}

TEST_CASE("walls: mounts appear where asked, read-only unless said, and the host follows") {
  test_daemon d;
  client c = d.connect();
  const std::string root = d.make_root(), data = d.make_root("data"), rw = d.make_root("rw");
  write_file(data + "/in", "hello\n");
  write_file(data + "/sum", "content");
  const std::string sum = run({"sha256sum", data + "/sum"}).out.substr(0, 64);
  json params = {{"roots", {root}},
                 {"backend", backend()},
                 {"mounts",
                  {{{"source", data}, {"target", "/opt/data"}},
                   {{"source", rw}, {"writable", true}},
                   {{"source", data + "/sum"}, {"target", "/opt/one"}, {"sha256", sum}}}}};
  const std::string workspace = c.call("workspace.open", params)["workspace"];
  const auto sh = [&](const std::string& line) {
    return c.call("exec.run", {{"workspace", workspace}, {"command", line}});
  };
  CHECK(bytes_of(sh("cat /opt/data/in /opt/one")["stdout"]) == "hello\ncontent");
  CHECK(sh("touch /opt/data/x")["exit"]["code"] != 0);
  CHECK(sh("touch " + rw + "/made")["exit"]["code"] == 0);
  CHECK(exists(rw + "/made"));

  params["roots"] = {d.make_root("second")};
  params["mounts"] = {{{"source", data + "/sum"}, {"target", "/opt/one"}, {"sha256", std::string(64, '0')}}};
  const json opened = c.reply(c.start("workspace.open", params));
  const json refused = opened.contains("error")
                           ? opened["error"]
                           : c.refused("workspace.start", {{"workspace", opened["result"]["workspace"]}});
  CHECK(refused["data"]["kind"].is_string());
  params["mounts"] = {{{"source", d.directory() + "/no-such"}}};
  CHECK(c.kind("workspace.open", params) == "not_found");
  params["mounts"] = {{{"source", "/usr/share"}, {"target", d.directory() + "/roots/second/inside"}}};
  CHECK(c.kind("workspace.open", params) == "invalid_params");
  params["mounts"] = {{{"source", d.directory() + "/run"}}};
  CHECK(c.kind("workspace.open", params) == "denied");
}

TEST_CASE("walls: tmp_bytes is enforced, other limits are refused at open") {
  world w({}, {{"limits", {{"tmp_bytes", 1 << 20}}}});
  CHECK(w.sh("head -c 3000000 /dev/zero >/tmp/big")["exit"]["code"] != 0);
  CHECK(w.sh("head -c 500000 /dev/zero >/tmp/big")["exit"]["code"] == 0);
  for (const char* name : {"memory_bytes", "pids"}) {
    CAPTURE(name);
    const json error = w.c.refused(
        "workspace.open", {{"roots", {w.host.make_root(name)}}, {"backend", backend()}, {"limits", {{name, 1 << 30}}}});
    CHECK(error["data"]["kind"] == "unsupported");
    CHECK(error["data"]["remedy"].is_string());
  }
  CHECK(w.c.kind("workspace.open", {{"roots", {w.host.make_root("net")}},
                                    {"backend", backend()},
                                    {"network", {{"allow", {"example.org"}}}}}) == "unsupported");
}

TEST_CASE("git: status and commit work in a repository and in a worktree of another") {
  test_daemon d;
  client c = d.connect();
  const std::string main_tree = d.make_root("main"), tree = d.directory() + "/roots/tree";
  const std::vector<std::string> env = {
      "HOME=" + d.directory() + "/home", "PATH=/usr/bin:/bin",   "GIT_AUTHOR_NAME=a",
      "GIT_AUTHOR_EMAIL=a@example.org",  "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org"};
  const auto made =
      run({"sh", "-c",
           "git init -q . && echo 1 >file && git add file && git commit -qm one && git worktree add -q " + tree},
          env, "", main_tree, 20000ms, true);
  REQUIRE_MESSAGE(made.status == 0, made.err);
  const json id = {{"GIT_AUTHOR_NAME", "b"},
                   {"GIT_AUTHOR_EMAIL", "b@example.org"},
                   {"GIT_COMMITTER_NAME", "b"},
                   {"GIT_COMMITTER_EMAIL", "b@example.org"}};
  const std::string workspace =
      c.call("workspace.open", {{"roots", {tree}}, {"backend", backend()}, {"env", id}})["workspace"];
  const auto sh = [&](const std::string& line) {
    const json answer = c.call("exec.run", {{"workspace", workspace}, {"command", line}, {"merge_stderr", true}});
    CAPTURE(answer.dump());
    CHECK(answer["exit"]["code"].is_number());
    return answer;
  };
  CHECK(bytes_of(sh("git status --porcelain && echo clean")["stdout"]) == "clean\n");
  const json commit = sh("echo 2 >>file && git commit -qam two && git log --oneline | wc -l");
  CHECK_MESSAGE(bytes_of(commit["stdout"]) == "2\n", commit.dump());
  // What the host's git would run or obey can not be changed from inside.
  const std::string git = main_tree + "/.git";
  for (const std::string& line :
       {"echo x >>" + git + "/config", "echo x >" + git + "/hooks/post-commit", "echo x >" + git + "/info/attributes",
        "echo x >" + git + "/config.worktree", "mkdir " + git + "/hooks/d"}) {
    CAPTURE(line);
    CHECK(sh(line)["exit"]["code"] != 0);
  }
  CHECK(run({"git", "-C", main_tree, "-c", "safe.directory=*", "fsck", "--strict"}).status == 0);
}

TEST_CASE("git: a forged .git file mounts nothing") {
  test_daemon d;
  client c = d.connect();
  const std::string victim = d.make_root("victim"), root = d.make_root("forged");
  const std::vector<std::string> env = {"HOME=" + d.directory() + "/home", "PATH=/usr/bin:/bin"};
  REQUIRE(run({"git", "init", "-q", "."}, env, "", victim, 20000ms, true).status == 0);
  write_file(root + "/.git", "gitdir: " + victim + "/.git\n");
  const std::string workspace = c.call("workspace.open", {{"roots", {root}}, {"backend", backend()}})["workspace"];
  const json answer = c.call("exec.run", {{"workspace", workspace}, {"command", "test -e " + victim}});
  CHECK(answer["exit"]["code"] == 1);
}

TEST_SUITE_END();
