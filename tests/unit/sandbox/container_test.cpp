// Real containers of engines that this program starts itself (tests/support/containers); needs root.
#include "daemon/sandbox/container.hpp"

#include <signal.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "daemon/async/run.hpp"
#include "daemon/sandbox/container_link.hpp"
#include "tests/unit/sandbox/test_host.hpp"

namespace sbx::sandbox {
namespace {

namespace filesystem = std::filesystem;

std::string output_of(const std::string& line) {
  FILE* pipe = ::popen(line.c_str(), "r");
  std::string text;
  char buffer[4096];
  for (std::size_t length; (length = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, length);
  ::pclose(pipe);
  return text;
}

// Started at first use, ended with the program.
class engines {
 public:
  static const engines& get() {
    static engines started;
    return started;
  }
  bool ready = false;
  std::vector<std::string> podman_args;

 private:
  engines() {
    const auto source = filesystem::path(__FILE__).parent_path() / "../../support/containers";
    script_ = filesystem::weakly_canonical(source).string();
    const bool installed = std::system("command -v dockerd podman runc busybox >/dev/null 2>&1") == 0;
    if (::geteuid() == 0 && installed)
      ready = std::system((script_ + " start " + directory_ + " >/dev/null").c_str()) == 0;
    if (!ready) {
      const char* required = std::getenv("SBX_REQUIRE");
      const std::string names = required == nullptr ? "" : required;
      std::fprintf(stderr, "\nSKIPPED: container tests need root, dockerd, podman, runc and busybox-static\n");
      CHECK(names.find("docker") == std::string::npos);
      CHECK(names.find("podman") == std::string::npos);
      return;
    }
    ::setenv("DOCKER_HOST", ("unix://" + directory_ + "/docker.sock").c_str(), 1);
    podman_args = {"--root", directory_ + "/podman/root", "--runroot", directory_ + "/podman/run", "--runtime", "runc"};
  }
  ~engines() {
    if (std::system((script_ + " stop " + directory_ + " >/dev/null 2>&1").c_str()) != 0)
      std::perror("containers stop");
  }
  std::string script_, directory_ = "/tmp/sbx-engines-" + std::to_string(::getpid());
};

struct world {
  explicit world(backend_kind kind) : root(here.path() / "ro,ot:x") {
    filesystem::create_directory(root);
    wanted.workspace = "ws-test";
    wanted.backend = kind;
    wanted.image = kind == backend_kind::docker ? "sbx-busybox" : "localhost/sbx-busybox";
    if (kind == backend_kind::podman) {
      wanted.engine_args = engines::get().podman_args;
      wanted.run_args = {"--ulimit", "nofile=1024:1024", "--ulimit", "nproc=4096:4096"};
    }
    wanted.roots.push_back(root_of(root));
  }
  void start() {
    auto launched = host.launch(wanted);
    REQUIRE_MESSAGE(launched, launched.error().message);
    made = *launched;
  }
  command_end sh(const std::string& line) { return host.sh(*made, line, root); }
  std::string out(const std::string& line) { return sh(line).out; }
  std::string cli(const std::string& words) const {
    std::string line = wanted.backend == backend_kind::docker ? "docker " : "podman ";
    for (const auto& word : wanted.engine_args) line += word + " ";
    return output_of(line + words + " 2>&1");
  }
  void end() {
    made->end();
    host.await(made->wait_ended());
  }

  test_host host;
  temporary_directory here;
  filesystem::path root;
  spec wanted;
  std::shared_ptr<sandbox> made;
};

std::vector<backend_kind> kinds() {
  if (!engines::get().ready) return {};
  return {backend_kind::docker, backend_kind::podman};
}

TEST_CASE("container: commands run in the image, on roots at their own path, as the daemon's user") {
  for (const auto kind : kinds()) {
    CAPTURE(name_of(kind));
    world w(kind);
    std::ofstream(w.root / "in") << "hello";
    w.start();
    CHECK(w.out("pwd; cat in; id -u; whoami; hostname") == w.root.string() + "\nhello0\nroot\nsbx\n");
    CHECK(w.sh("touch made $HOME/x /tmp/x /dev/shm/x").code == 0);
    CHECK(filesystem::exists(w.root / "made"));
    CHECK(w.out("cat /proc/1/comm").starts_with(".sbx-"));
    CHECK(w.out("tail -n +3 /proc/net/dev | awk '{print $1}'") == "lo:\n");
    CHECK(w.out("for f in /.sbx-*; do test -d $f && ls -A $f; (echo y >> $f || echo y > $f/x) 2>/dev/null && echo $f; "
                "done") == "");
    REQUIRE(w.made->container());
    CHECK(w.cli("ps -q --no-trunc").find(*w.made->container()) == 0);
    w.end();
    CHECK(w.cli("ps -aq") == "");
    CHECK(filesystem::is_empty(w.host.runtime()));
  }
}

TEST_CASE("container: another user, a home and a name of its own, and terminals it may open") {
  for (const auto kind : kinds()) {
    CAPTURE(name_of(kind));
    world w(kind);
    w.wanted.user.mode = user_spec::mode::explicit_ids;
    w.wanted.user.uid = 1234;
    w.wanted.user.gid = 1235;
    filesystem::permissions(w.root, filesystem::perms::all);
    w.start();
    CHECK(w.out("id -u; id -g; whoami; touch $HOME/x mine && stat -c %u:%g mine; touch /etc/x 2>/dev/null; test -e "
                "/etc/x || echo no") == "1234\n1235\nuser\n1234:1235\nno\n");
    auto terminal = w.made->open_terminal();
    REQUIRE_MESSAGE(terminal, terminal.error().message);
    struct stat status {};
    REQUIRE(::fstat(terminal->slave.get(), &status) == 0);
    CHECK(status.st_uid == 1234);
    w.end();
  }
}

TEST_CASE("container: the image's own user and environment") {
  for (const auto kind : kinds()) {
    CAPTURE(name_of(kind));
    world w(kind);
    w.wanted.image = kind == backend_kind::docker ? "sbx-hostile" : "localhost/sbx-hostile";
    w.wanted.user.mode = user_spec::mode::image;
    w.start();
    CHECK(w.made->user_name() == "nobody");
    std::string env;
    for (const auto& variable : w.made->base_env()) env += variable + "\n";
    CHECK(env.find("PATH=/nowhere:/bin") == 0);
    CHECK(env.find("A=b\n") != std::string::npos);
    CHECK(w.out("/bin/id -u") == "65534\n");
    w.end();
  }
}

TEST_CASE("container: nothing that an image says changes what the daemon runs") {
  for (const auto kind : kinds()) {
    CAPTURE(name_of(kind));
    world w(kind);
    w.wanted.image = kind == backend_kind::docker ? "sbx-hostile" : "localhost/sbx-hostile";
    w.start();
    CHECK(w.out("/bin/id -u; echo ok") == "0\nok\n");
    w.end();
    CHECK(w.cli("volume ls -q") == "");
  }
}

TEST_CASE("container: an image without a shell or a libc is a sandbox too") {
  for (const auto kind : kinds()) {
    CAPTURE(name_of(kind));
    world w(kind);
    w.wanted.image = kind == backend_kind::docker ? "sbx-bare" : "localhost/sbx-bare";
    w.start();
    CHECK(w.sh("true").code == -1);  // no /bin/sh there: spawn_failed
    CHECK(w.made->alive());
    w.end();
  }
}

TEST_CASE("container: mounts, limits and sizes are the engine's") {
  for (const auto kind : kinds()) {
    CAPTURE(name_of(kind));
    world w(kind);
    std::ofstream(w.here.path() / "file") << "abc";
    w.wanted.mounts.push_back(mount_of(w.here.path() / "file", "/opt/a \"b\",c"));
    w.wanted.mounts.back().sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    w.wanted.limits.tmp_bytes = 1 << 20;
    w.wanted.limits.memory_bytes = 64 << 20;
    w.wanted.limits.pids = 50;
    w.wanted.limits.cpus = 1;
    w.start();
    CHECK(w.out("cat '/opt/a \"b\",c'; echo x > '/opt/a \"b\",c'").starts_with("abc"));
    CHECK(w.sh("dd if=/dev/zero of=/tmp/big bs=1M count=3").code != 0);
    CHECK(w.sh("dd if=/dev/zero of=/tmp/big bs=100k count=3").code == 0);
    CHECK_FALSE(w.made->took_oom_kill());
    const auto hog = w.sh("exec tail /dev/zero");
    CHECK_MESSAGE(hog.code == 137, hog.out);
    if (!w.made->alive()) {
      w.host.await(w.made->wait_ended());
      FAIL(w.made->ended_because());
    }
    CHECK(w.made->took_oom_kill());
    CHECK_FALSE(w.made->took_oom_kill());
    CHECK(w.made->alive());
    CHECK(w.out("echo fine") == "fine\n");
    w.end();
  }
}

TEST_CASE("container: killed, removed or paused from outside, its end is told and nothing is left") {
  for (const auto kind : kinds()) {
    for (const char* how : {"kill", "rm -f", "pause", "stop -t 1"}) {
      CAPTURE(name_of(kind));
      CAPTURE(how);
      world w(kind);
      w.start();
      const auto begun = std::chrono::steady_clock::now();
      w.cli(std::string(how) + " " + *w.made->container());
      w.host.await(w.made->wait_ended());
      CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(8));
      CHECK_FALSE(w.made->alive());
      CHECK_FALSE(w.made->ended_because().empty());
      CHECK(w.cli("ps -aq") == "");
    }
  }
}

TEST_CASE("container: what cannot be started says why") {
  for (const auto kind : kinds()) {
    CAPTURE(name_of(kind));
    world w(kind);
    const auto refusal = [&](auto change) {
      spec wanted = w.wanted;
      change(wanted);
      const auto launched = w.host.launch(wanted);
      REQUIRE_FALSE(launched);
      CHECK(launched.error().kind == error_kind::sandbox_unavailable);
      CHECK(detail(launched.error(), "backend") == name_of(kind));
      CHECK_FALSE(detail(launched.error(), "remedy").empty());
      return detail(launched.error(), "cause");
    };
    CHECK(refusal([](spec& s) { s.image = "localhost:1/none/none:1"; }) != "");
    CHECK(refusal([](spec& s) {
            s.network.mode = network_spec::mode::named;
            s.network.name = "sbx-no-such-net";
          }).find("sbx-no-such-net") != std::string::npos);
    CHECK(refusal([](spec& s) { s.run_args.push_back("--no-such-flag"); }).find("flag") != std::string::npos);
    CHECK(w.cli("ps -aq") == "");
  }
}

TEST_CASE("container: an engine that is not there, or is not installed") {
  backend_options options;
  options.docker_path = "/nonexistent/docker";
  test_host host(options);
  const auto probed = host.await(host.of(backend_kind::docker).probe());
  CHECK_FALSE(probed.available);
  CHECK_FALSE(probed.remedy.empty());
  spec wanted;
  wanted.backend = backend_kind::docker;
  wanted.image = "x";
  const auto launched = host.launch(wanted);
  REQUIRE_FALSE(launched);
  CHECK(launched.error().kind == error_kind::sandbox_unavailable);
}

TEST_CASE("container: what a dead daemon left is swept, and only that") {
  for (const auto kind : kinds()) {
    CAPTURE(name_of(kind));
    world w(kind);
    const auto until_left = [&](const std::string& names) {
      const auto tried = []() -> async::task<void> { co_await async::sleep_for(std::chrono::milliseconds(100)); };
      for (int i = 0; i < 100 && w.cli("ps -a --format '{{.Names}}'") != names; ++i) w.host.await(tried());
      CHECK(w.cli("ps -a --format '{{.Names}}'") == names);
    };
    const std::string image = w.wanted.image + " sleep 600",
                      limits =
                          kind == backend_kind::podman ? " --ulimit nofile=1024:1024 --ulimit nproc=4096:4096 " : " ";
    w.cli("run -d --network=none --name theirs --label=sbx.daemon=0:/other" + limits + image);
    // By its record, whatever the engine's arguments were.
    w.cli("run -d --network=none --name recorded" + limits + image);
    auto record = w.wanted.engine_args;
    record.insert(record.end(), {"rm", "--force", "--volumes", "--", "recorded"});
    asio::io_context other;
    auto left = container_link::make(other, w.host.runtime(), "link-" + std::string(name_of(kind)) + "-", record);
    REQUIRE(left);
    w.host.await(w.host.of(kind).sweep());
    until_left("theirs\n");
    CHECK(filesystem::is_empty(w.host.runtime()));
    // By its label, in the engine of the daemon's environment.
    if (kind == backend_kind::docker) {
      w.cli("run -d --network=none --name labelled --label=sbx.daemon=" + std::to_string(::geteuid()) + ":" +
            w.host.runtime().string() + "/sbxd.sock" + limits + image);
      w.host.await(w.host.of(kind).sweep());
      until_left("theirs\n");
    }
    w.cli("rm -f theirs");
  }
}

TEST_CASE("container: probing tells the engine's version") {
  for (const auto kind : kinds()) {
    world w(kind);
    const auto probed = w.host.await(w.host.of(kind).probe());
    CHECK_MESSAGE(probed.available, probed.cause);
    CHECK_FALSE(probed.version.empty());
  }
}

}  // namespace
}  // namespace sbx::sandbox
