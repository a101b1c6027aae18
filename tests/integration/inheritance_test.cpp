// What a command is born with: descriptors, signals, session, umask, limits and environment.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <set>
#include <sstream>

#include "tests/support/harness/daemon.hpp"
#include "tests/support/harness/row.hpp"

using namespace sbx::test;

namespace {

daemon_options careless_starter() {
  daemon_options options;
  options.before_exec = [] {
    for (const int number : {SIGPIPE, SIGHUP, SIGINT, SIGUSR1}) std::signal(number, SIG_IGN);
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    sigaddset(&blocked, SIGCHLD);
    sigprocmask(SIG_BLOCK, &blocked, nullptr);
    for (int i = 0; i < 20; ++i) static_cast<void>(::open("/etc/hostname", O_RDONLY));  // without CLOEXEC
  };
  return options;
}

std::set<std::string> lines(const std::string& text) {
  std::set<std::string> found;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) found.insert(line);
  return found;
}

}  // namespace

TEST_SUITE_BEGIN("every");

TEST_CASE("inheritance: signals are at their default and unblocked whatever the daemon was started with") {
  world w(careless_starter());
  const json answer = w.run({"grep", "-E", "^Sig(Ign|Blk)", "/proc/self/status"});
  CHECK(bytes_of(answer["stdout"]) == "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST_CASE("inheritance: only descriptors 0 to 2 are open, in 64 commands at once too") {
  world w(careless_starter());
  std::vector<int> ids;
  for (int i = 0; i < 64; ++i) {
    ids.push_back(w.c.start("exec.run", {{"workspace", w.workspace}, {"argv", {"ls", "/proc/self/fd"}}}));
  }
  for (const int id : ids) {
    // 3 is what ls opened to read the directory.
    CHECK(bytes_of(w.c.result(id)["stdout"]) == "0\n1\n2\n3\n");
  }
}

TEST_CASE("inheritance: a command leads a new session and has no terminal") {
  world w;
  CHECK(w.out("ps -o pid= -o sid= -o pgid= -p $$ | awk '{print ($1==$2 && $2==$3)}'") == "1\n");
  CHECK(w.sh("exec </dev/tty")["exit"]["code"] != 0);
  CHECK(w.out("cat; echo end") == "end\n");
}

TEST_CASE("inheritance: umask and resource limits are those the daemon was started with") {
  daemon_options options;
  options.before_exec = [] {
    const rlimit files{512, 4096};
    ::setrlimit(RLIMIT_NOFILE, &files);
    const rlimit core{0, 1 << 20};
    ::setrlimit(RLIMIT_CORE, &core);
  };
  world w(std::move(options));
  CHECK(w.out("umask") == "0022\n");
  CHECK(w.out("ulimit -Sn; ulimit -Hn; ulimit -Sc") == "512\n4096\n0\n");
}

TEST_CASE("inheritance: the environment is a fixed small set and nothing of the daemon's") {
  world w;
  std::set<std::string> names;
  for (const auto& line : lines(w.out("env"))) names.insert(line.substr(0, line.find('=')));
  for (const char* name : {"PATH", "HOME", "USER", "LANG", "TERM", "TMPDIR"}) {
    CAPTURE(name);
    CHECK(names.count(name) == 1);
  }
  CHECK(names.count("SECRET_OF_THE_DAEMON") == 0);
  CHECK(names.count("XDG_RUNTIME_DIR") == 0);
  CHECK(names.count("NOTIFY_SOCKET") == 0);
  CHECK(w.out("cat /proc/self/environ | tr '\\0' '\\n' | grep -c do-not-leak; true") == "0\n");
  // Without walls the home is the user's own, which need not exist.
  if (isolated()) CHECK(w.out("test -w \"$HOME\" && echo yes") == "yes\n");
  CHECK(w.out("test -w \"$TMPDIR\" && echo yes") == "yes\n");
}

TEST_CASE("inheritance: the call's env wins over the workspace's, and null removes") {
  world w({}, {{"env", {{"A", "workspace"}, {"B", "workspace"}, {"LANG", nullptr}}}});
  CHECK(w.out("echo $A $B ${LANG-none}") == "workspace workspace none\n");
  CHECK(w.out("echo $A ${B-none} $C", {{"env", {{"A", "call"}, {"B", nullptr}, {"C", "new\nline"}}}}) ==
        "call none new line\n");
}

TEST_CASE("inheritance: pass_env of the profile names what may cross") {
  daemon_options options;
  options.config = R"({"profiles": {"default": {"pass_env": ["SECRET_OF_THE_DAEMON"], "env": {"P": "profile"}}}})";
  world w(std::move(options));
  CHECK(w.out("echo $SECRET_OF_THE_DAEMON $P") == "do-not-leak-me profile\n");
}

TEST_SUITE_END();
