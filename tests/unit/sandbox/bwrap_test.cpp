// Real sandboxes, as root and as an ordinary user: run by root, the program runs these cases again as the user
// sbx-test.
#include "daemon/sandbox/bwrap.hpp"

#include <pwd.h>
#include <signal.h>

#include <cstdlib>
#include <fstream>

#include "tests/unit/sandbox/test_host.hpp"

namespace sbx::sandbox {
namespace {

namespace filesystem = std::filesystem;

bool have_bwrap() {
  const bool found = ::access("/usr/bin/bwrap", X_OK) == 0;
  if (!found) {
    MESSAGE("SKIPPED: bubblewrap is not installed");
    const char* required = std::getenv("SBX_REQUIRE");
    CHECK_FALSE((required != nullptr && std::string(required).find("bwrap") != std::string::npos));
  }
  return found;
}

struct world {
  explicit world(const std::string& beneath = "/tmp", backend_options options = backend_options())
      : host(std::move(options)), here(beneath), root(here.path() / "root") {
    filesystem::create_directory(root);
    wanted.workspace = "ws-test";
    wanted.roots.push_back(root_of(root));
  }
  void start() {
    auto launched = host.launch(wanted);
    REQUIRE_MESSAGE(launched, launched.error().message);
    made = *launched;
  }
  command_end sh(const std::string& line) { return host.sh(*made, line, root); }
  std::string out(const std::string& line) { return sh(line).out; }

  test_host host;
  temporary_directory here;
  filesystem::path root;
  spec wanted;
  std::shared_ptr<sandbox> made;
};

TEST_CASE("bwrap: the same cases hold for an ordinary user") {
  if (::geteuid() != 0 || !have_bwrap()) return;
  if (::getpwnam("sbx-test") == nullptr) REQUIRE(std::system("useradd --create-home --shell /bin/sh sbx-test") == 0);
  const std::string self = filesystem::read_symlink("/proc/self/exe");
  const std::string line = "setpriv --reuid=sbx-test --regid=sbx-test --init-groups env HOME=/home/sbx-test '" + self +
                           "' --test-case='bwrap:*' --minimal";
  CHECK(std::system(line.c_str()) == 0);
}

TEST_CASE("bwrap: no capability, no new privileges, the daemon's own user with a name and a home") {
  if (!have_bwrap()) return;
  world w;
  w.start();
  CHECK(w.out("grep -E '^Cap(Inh|Prm|Eff|Bnd|Amb)' /proc/self/status | cut -f2 | sort -u") == "0000000000000000\n");
  CHECK(w.out("grep NoNewPrivs /proc/self/status") == "NoNewPrivs:\t1\n");
  CHECK(w.out("id -u; id -g") == std::to_string(::geteuid()) + "\n" + std::to_string(::getegid()) + "\n");
  CHECK(w.out("whoami") == w.made->user_name() + "\n");
  CHECK(w.out("getent passwd $(id -u) | cut -d: -f6") == w.made->home() + "\n");
  CHECK(w.sh("test -w $HOME && touch $HOME/x").code == 0);
}

TEST_CASE("bwrap: nothing of /proc and /sys can be written") {
  if (!have_bwrap()) return;
  world w;
  w.start();
  CHECK(w.out("for f in /proc/[a-z]*; do test -f $f -o -c $f && (echo x >> $f) 2>/dev/null && echo $f; done") == "");
  CHECK(w.out("find /proc/sys /proc/irq /proc/bus /proc/fs -type f -writable 2>/dev/null | head -5") == "");
  CHECK(w.sh("echo x > /proc/sys/kernel/core_pattern").code != 0);
  CHECK(w.sh("test -e /sys/kernel").code != 0);
  CHECK(w.sh("head -c1 /proc/kmsg || head -c1 /proc/kcore || head -c1 /proc/keys || head -c1 /proc/kpageflags").code !=
        0);
}

TEST_CASE("bwrap: only roots, home, /tmp and /dev/shm can be written") {
  if (!have_bwrap()) return;
  world w;
  w.start();
  const auto mounts =
      w.out("awk '{print $6, $5}' /proc/self/mountinfo | grep '^rw' | cut -d' ' -f2 | sort | grep -v '^/dev/[a-z]*$'");
  const auto home = w.made->home();
  CHECK(mounts.find(w.root.string() + "\n") != std::string::npos);
  CHECK(
      w.sh("for d in / /usr /etc /dev /dev/pts /var /run /bin /lib; do touch $d/sbx-probe 2>/dev/null && echo $d; done")
          .out == "");
  CHECK(w.sh("touch $HOME/a /tmp/a /var/tmp/b /dev/shm/a " + w.root.string() + "/a").code == 0);
  CHECK(filesystem::exists(w.root / "a"));
  CHECK_FALSE(filesystem::exists("/tmp/a"));
  CHECK(w.out("awk '{print $6, $5}' /proc/self/mountinfo | grep '^rw' | cut -d' ' -f2 | grep -vE "
              "'^(/proc|/dev/(null|zero|full|random|"
              "urandom|tty|pts|shm|console)|/tmp)$' | grep -vFx -e " +
              home + " -e " + w.root.string()) == "");
}

TEST_CASE("bwrap: the host's files, sockets, processes, environment and network are not there") {
  if (!have_bwrap()) return;
  ::setenv("SBX_SECRET_OF_THE_DAEMON", "leak", 1);
  world w;
  w.start();
  CHECK(w.out("ls -A ..; ls -A /tmp | wc -l") == "root\n1\n");
  CHECK(w.sh("test -e " + w.host.runtime().string()).code != 0);
  CHECK(w.out("find / -xdev -type s 2>/dev/null") == "");
  CHECK(
      w.out("cat /proc/1/environ 2>/dev/null; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep -c SBX_SECRET") ==
      "0\n");
  CHECK(w.out("set -- /proc/[0-9]*; test $# -lt 10 && echo 1") == "1\n");
  CHECK(w.out("tail -n +3 /proc/net/dev | awk '{print $1}'") == "lo:\n");
  CHECK(
      w.sh("test -e /etc/shadow || test -e /boot || test -e /etc/ssl/private || test -e /home/" + std::string("nobody"))
          .code != 0);
  CHECK(w.out("hostname") == "sbx\n");
}

TEST_CASE("bwrap: commands have no descriptor but 0 to 2") {
  if (!have_bwrap()) return;
  const int leaked = ::open("/etc/hostname", O_RDONLY);
  const sys::unique_fd owner(leaked);
  world w;
  w.start();
  CHECK(w.out("ls /proc/$$/fd; :") == "0\n1\n2\n");
}

TEST_CASE("bwrap: a root appears at its own path wherever it lies") {
  if (!have_bwrap()) return;
  std::vector<std::string> places = {"/tmp", "/var/tmp"};
  if (::geteuid() == 0)
    places.insert(places.end(), {"/usr/local", "/etc", "/opt", "/home", "/root", "/srv", "/run"});
  else if (const char* home = std::getenv("HOME"); home != nullptr && ::access(home, W_OK) == 0)
    places.emplace_back(home);
  for (const auto& place : places) {
    CAPTURE(place);
    world w(place);
    std::ofstream(w.root / "in") << "hello";
    w.start();
    CHECK(w.out("pwd -P; cat in; echo made > out; touch ../x 2>&1 | grep -c .") ==
          w.root.string() + "\nhello" + (place == "/tmp" || w.made->home() == place ? "0\n" : "1\n"));
    CHECK(filesystem::exists(w.root / "out"));
  }
}

TEST_CASE("bwrap: several roots, and mounts read-only unless said") {
  if (!have_bwrap()) return;
  world w;
  for (const char* name : {"second", "data", "out"}) filesystem::create_directory(w.here.path() / name);
  std::ofstream(w.here.path() / "data/file") << "content";
  w.wanted.roots.push_back(root_of(w.here.path() / "second"));
  w.wanted.mounts.push_back(mount_of(w.here.path() / "data", "/opt/data"));
  w.wanted.mounts.push_back(mount_of(w.here.path() / "data/file", "/usr-file"));
  w.wanted.mounts.push_back(mount_of(w.here.path() / "out", "/opt/data-out"));
  w.wanted.mounts.back().writable = true;
  w.wanted.mounts.push_back(mount_of(w.here.path() / "missing", "/opt/missing"));
  w.wanted.mounts.back().fd = nullptr;
  w.wanted.mounts.back().optional = true;
  REQUIRE(w.host.of(backend_kind::bwrap).accepts(w.wanted));
  w.start();
  CHECK(w.out("cat /opt/data/file /usr-file; ls /opt") == "contentcontentdata\ndata-out\n");
  CHECK(w.sh("touch /opt/data/x").code != 0);
  CHECK(w.sh("echo x > /usr-file").code != 0);
  CHECK(w.sh("touch /opt/data-out/x " + (w.here.path() / "second/x").string()).code == 0);
  CHECK(filesystem::exists(w.here.path() / "out/x"));
}

TEST_CASE("bwrap: a file with a sha256 shows the content that was checked") {
  if (!have_bwrap()) return;
  world w;
  std::ofstream(w.here.path() / "file") << "abc";
  w.wanted.mounts.push_back(mount_of(w.here.path() / "file", "/opt/file"));
  w.wanted.mounts.back().sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  w.start();
  std::ofstream(w.here.path() / "file") << "changed";
  CHECK(w.out("cat /opt/file") == "abc");
  CHECK(w.sh("echo x > /opt/file").code != 0);
  w.wanted.mounts.back().sha256 = std::string(64, '0');
  const auto refused = w.host.launch(w.wanted);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == error_kind::sandbox_unavailable);
}

TEST_CASE("bwrap: tmp_bytes is a wall") {
  if (!have_bwrap()) return;
  world w;
  w.wanted.limits.tmp_bytes = 1 << 20;
  w.start();
  CHECK(w.sh("head -c 3000000 /dev/zero > /tmp/big").code != 0);
  CHECK(w.sh("head -c 3000000 /dev/zero > /dev/shm/big").code != 0);
  CHECK(w.sh("head -c 500000 /dev/zero > /tmp/big").code == 0);
}

TEST_CASE("bwrap: the host's network when asked for") {
  if (!have_bwrap()) return;
  world w;
  w.wanted.network.mode = network_spec::mode::host;
  w.start();
  CHECK(w.out("readlink /proc/self/ns/net") == filesystem::read_symlink("/proc/self/ns/net").string() + "\n");
  CHECK(w.sh("test -f /etc/resolv.conf && test -f /etc/hosts").code == 0);
}

TEST_CASE("bwrap: git works in a worktree, and what the host's git would obey cannot be changed") {
  if (!have_bwrap()) return;
  world w;
  const auto tree = w.here.path() / "tree";
  const std::string git = "cd '" + w.root.string() +
                          "' && export GIT_CONFIG_GLOBAL=/dev/null && git init -q -b main . && "
                          "git config user.name a && git config user.email a@example.org && echo 1 > f && git add f && "
                          "git commit -qm one && git worktree add -q '" +
                          tree.string() + "'";
  REQUIRE(std::system(git.c_str()) == 0);
  w.wanted.roots = {root_of(tree)};
  w.start();
  const auto in_tree = [&](const std::string& line) { return w.host.sh(*w.made, line, tree); };
  CHECK(in_tree("git status --porcelain").out == "");
  const auto commit = in_tree("echo 2 >> f && git commit -qam two && git log --oneline | wc -l");
  CHECK(commit.out == "2\n");
  CHECK(in_tree("git stash list && git branch side && git branch -D side").code == 0);
  const std::string common = w.root.string() + "/.git/";
  for (const char* path : {"config", "config.worktree", "hooks/post-commit", "info/attributes", "modules/x",
                           "worktrees/x", "worktrees/tree/config.worktree", "worktrees/tree/commondir"})
    CHECK_MESSAGE(in_tree("echo x >> " + common + path).code != 0, path);
}

TEST_CASE("bwrap: an ended sandbox leaves no process, and its end is told") {
  if (!have_bwrap()) return;
  world w;
  w.start();
  const auto init = w.made->host_pid();
  REQUIRE(init);
  CHECK(::kill(*init, 0) == 0);
  w.made->end();
  w.host.await(w.made->wait_ended());
  CHECK(::kill(*init, 0) != 0);
  CHECK_FALSE(w.made->alive());
  world killed;
  killed.start();
  REQUIRE(::kill(*killed.made->host_pid(), SIGKILL) == 0);
  killed.host.await(killed.made->wait_ended());
  CHECK_FALSE(killed.made->alive());
}

TEST_CASE("bwrap: a terminal belongs to the sandbox") {
  if (!have_bwrap()) return;
  world w;
  w.start();
  auto pair = w.made->open_terminal();
  REQUIRE(pair);
  CHECK(::isatty(pair->slave.get()) == 1);
  CHECK(w.out("ls /dev/pts") == "0\nptmx\n");
}

struct stub {
  explicit stub(const std::string& body) {
    std::ofstream(here.path() / "bwrap") << "#!/bin/sh\n" << body << "\n";
    ::chmod((here.path() / "bwrap").c_str(), 0755);
  }
  error refusal() const {
    backend_options options;
    options.bwrap_path = here.path() / "bwrap";
    options.start_timeout = std::chrono::milliseconds(1500);
    world w("/tmp", options);
    const auto launched = w.host.launch(w.wanted);
    REQUIRE_FALSE(launched);
    CHECK(launched.error().kind == error_kind::sandbox_unavailable);
    CHECK(detail(launched.error(), "backend") == "bwrap");
    return launched.error();
  }
  temporary_directory here;
};

TEST_CASE("bwrap: one that cannot do its work is sandbox_unavailable, for the right reason") {
  const auto apparmor = stub("echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1").refusal();
  CHECK(detail(apparmor, "cause") == "bwrap: setting up uid map: Permission denied");
  CHECK(detail(apparmor, "remedy").find("AppArmor") != std::string::npos);
  CHECK(detail(stub("exit 0").refusal(), "cause") != "");
  CHECK(detail(stub("kill -9 $$").refusal(), "cause") != "");
  CHECK(detail(stub("head -c 10000000 /dev/zero >&2; exit 1").refusal(), "cause") != "");
  CHECK(detail(stub("exec sleep 600").refusal(), "cause") != "");
  backend_options missing;
  missing.bwrap_path = "/nonexistent/bwrap";
  world w("/tmp", missing);
  const auto launched = w.host.launch(w.wanted);
  REQUIRE_FALSE(launched);
  CHECK(detail(launched.error(), "remedy").find("install") != std::string::npos);
}

TEST_CASE("bwrap: what it cannot do is refused at once") {
  world w;
  auto& backend = w.host.of(backend_kind::bwrap);
  CHECK(backend.accepts(w.wanted));
  const auto refuses = [&](auto change) {
    spec wanted = w.wanted;
    change(wanted);
    const auto answer = backend.accepts(wanted);
    return !answer && answer.error().kind == error_kind::unsupported && !detail(answer.error(), "remedy").empty();
  };
  CHECK(refuses([](spec& s) { s.limits.memory_bytes = 1; }));
  CHECK(refuses([](spec& s) { s.limits.cpus = 1; }));
  CHECK(refuses([](spec& s) { s.limits.pids = 1; }));
  CHECK(refuses([](spec& s) { s.network.mode = network_spec::mode::bridge; }));
  CHECK(refuses([](spec& s) { s.user.mode = user_spec::mode::explicit_ids; }));
}

TEST_CASE("bwrap: probing starts a sandbox and says what version it was") {
  if (!have_bwrap()) return;
  world w;
  const auto answer = w.host.await(w.host.of(backend_kind::bwrap).probe());
  CHECK_MESSAGE(answer.available, answer.cause);
  CHECK(answer.version.find("0.") != std::string::npos);
}

}  // namespace
}  // namespace sbx::sandbox
