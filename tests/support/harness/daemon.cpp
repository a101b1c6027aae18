#include "tests/support/harness/daemon.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <thread>

#include "tests/support/harness/row.hpp"

namespace sbx::test {
namespace {

namespace fs = std::filesystem;

int open_pidfd(pid_t pid) {
  return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
}

void own(const std::string& path, mode_t mode) {
  REQUIRE(::chmod(path.c_str(), mode) == 0);
  if (running_as_root()) REQUIRE(::chown(path.c_str(), daemon_ids().uid, daemon_ids().gid) == 0);
}

void make_directory(const std::string& path, mode_t mode) {
  REQUIRE(::mkdir(path.c_str(), 0700) == 0);
  own(path, mode);
}

std::string make_directory_for_test() {
  char pattern[] = "/tmp/sbx-it-XXXXXX";
  REQUIRE(::mkdtemp(pattern) != nullptr);
  own(pattern, 0755);
  return pattern;
}

sys::unique_fd notify_socket(const std::string& path) {
  sys::unique_fd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  ::unlink(path.c_str());
  REQUIRE(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  own(path, 0666);
  return fd;
}

// Daemons that are meant to run: a test may have several.
std::set<pid_t>& living_daemons() {
  static std::set<pid_t> pids;
  return pids;
}

// What has fallen to us and still runs; what has ended is reaped.
std::vector<pid_t> strays() {
  std::vector<pid_t> running;
  for (const pid_t pid : children_of(::getpid())) {
    if (living_daemons().count(pid)) continue;
    if (::waitpid(pid, nullptr, WNOHANG) == 0) running.push_back(pid);
  }
  return running;
}

}  // namespace

std::string program(const std::string& name) {
  const char* staged = std::getenv("SBX_TEST_BIN");
  return std::string(staged && *staged ? staged : SBX_BUILD_BIN) + "/" + name;
}

test_daemon::test_daemon(daemon_options options) : options_(std::move(options)), directory_(make_directory_for_test()) {
  for (const char* name : {"config", "state", "home", "tmp", "roots"}) make_directory(directory_ + "/" + name, 0755);
  make_directory(directory_ + "/run", 0700);
  socket_ = directory_ + "/run/sbxd/sbxd.sock";
  if (!options_.config.empty()) {
    write_file(directory_ + "/config.json", options_.config);
    options_.arguments.insert(options_.arguments.end(), {"--config", directory_ + "/config.json"});
  }
  std::map<std::string, std::string> variables = {
      {"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
      {"HOME", directory_ + "/home"},
      {"TMPDIR", directory_ + "/tmp"},
      {"XDG_RUNTIME_DIR", directory_ + "/run"},
      {"XDG_STATE_HOME", directory_ + "/state"},
      {"XDG_CONFIG_HOME", directory_ + "/config"},
      {"NOTIFY_SOCKET", directory_ + "/notify"},
      // Asking rootless podman anything leaves a process of its own behind.
      {"SBX_DOCKER", "/nonexistent/docker"},
      {"SBX_PODMAN", "/nonexistent/podman"},
      {"SECRET_OF_THE_DAEMON", "do-not-leak-me"}};
  for (const char* name : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "SBX_FEATURES_OFF"}) {
    if (const char* value = std::getenv(name)) variables[name] = value;
  }
  for (const auto& [name, value] : options_.env) variables[name] = value;
  for (const auto& [name, value] : variables) environment_.push_back(name + "=" + value);
  start();
}

void test_daemon::start() {
  REQUIRE(pid_ < 0);
  notify_ = notify_socket(directory_ + "/notify");
  const std::string path = options_.programs.empty() ? program("sbxd") : options_.programs + "/sbxd";
  const sys::unique_fd log(::open((directory_ + "/log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  REQUIRE(log);
  static_cast<void>(daemon_ids());
  pid_ = ::fork();
  REQUIRE(pid_ >= 0);
  if (pid_ == 0) {
    const sys::unique_fd null(::open("/dev/null", O_RDONLY));
    ::dup2(null.get(), 0), ::dup2(log.get(), 1), ::dup2(log.get(), 2);
    if (options_.before_exec) options_.before_exec();
    become_daemon_user();
    ::umask(022);
    std::vector<std::string> words = {path};
    words.insert(words.end(), options_.arguments.begin(), options_.arguments.end());
    std::vector<char*> arguments, variables;
    for (auto& word : words) arguments.push_back(word.data());
    for (auto& variable : environment_) variables.push_back(variable.data());
    arguments.push_back(nullptr), variables.push_back(nullptr);
    ::execve(path.c_str(), arguments.data(), variables.data());
    ::_exit(96);
  }
  living_daemons().insert(pid_);
  pidfd_.reset(open_pidfd(pid_));
  REQUIRE(pidfd_);
  if (options_.wait_ready) await_ready();
}

void test_daemon::await_ready() {
  const auto end = clock::now() + 20s;
  while (clock::now() < end) {
    pollfd waits[2] = {{notify_.get(), POLLIN, 0}, {pidfd_.get(), POLLIN, 0}};
    ::poll(waits, 2, 1000);
    if (waits[1].revents != 0) {
      ::waitpid(pid_, nullptr, 0);
      living_daemons().erase(pid_);
      pid_ = -1;
      FAIL("sbxd did not start: " << log());
    }
    char text[256];
    const ssize_t n = ::recv(notify_.get(), text, sizeof text, 0);
    if (n > 0 && std::string_view(text, static_cast<std::size_t>(n)).find("READY=1") != std::string_view::npos) return;
  }
  FAIL("sbxd did not become ready: " << log());
}

std::string test_daemon::make_root(const std::string& name) const {
  const std::string path = directory_ + "/roots/" + name;
  make_directory(path, 0755);
  return path;
}

void test_daemon::signal(int number) const {
  REQUIRE(::kill(pid_, number) == 0);
}

int test_daemon::wait(milliseconds limit) {
  pollfd wait{pidfd_.get(), POLLIN, 0};
  const bool ended = ::poll(&wait, 1, static_cast<int>(limit.count())) == 1;
  CHECK_MESSAGE(ended, "sbxd did not end in time");
  if (!ended) ::kill(pid_, SIGKILL);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  living_daemons().erase(pid_);
  pid_ = -1;
  return status;
}

int test_daemon::stop(milliseconds limit) {
  signal(SIGTERM);
  return wait(limit);
}

void test_daemon::kill_now() {
  signal(SIGKILL);
  wait();
}

void test_daemon::expect_nothing_left(milliseconds limit) {
  const bool none = eventually([] { return strays().empty(); }, limit, 5ms);
  std::string left;
  if (!none) {
    for (const pid_t pid : strays()) {
      left += std::to_string(pid) + " " + read_file("/proc/" + std::to_string(pid) + "/comm");
      ::kill(pid, SIGKILL);
    }
  }
  CHECK_MESSAGE(none, "processes are left: " << left);
  CHECK_MESSAGE(read_file("/proc/self/mountinfo").find(directory_) == std::string::npos, "a mount is left");
  CHECK_MESSAGE(fs::is_empty(directory_ + "/tmp"), "a temporary file is left");
}

test_daemon::~test_daemon() {
  if (pid_ > 0) {
    ::kill(pid_, SIGTERM);
    const int status = wait();
    CHECK_MESSAGE((WIFEXITED(status) && WEXITSTATUS(status) == 0), "sbxd ended with wait status " << status);
    CHECK_MESSAGE(!exists(socket_), "the socket is left");
  }
  expect_nothing_left();
  if (test_failed()) {
    const std::string text = log();
    MESSAGE("log of sbxd:\n" << text.substr(text.size() > 6000 ? text.size() - 6000 : 0));
  }
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

world::world(daemon_options options, json open) : host(std::move(options)), c(host.connect()), root(host.make_root()) {
  open.emplace("roots", json::array({root}));
  open.emplace("backend", backend());
  workspace = c.call("workspace.open", std::move(open)).at("workspace");
}

int world::start_sh(const std::string& command, json more) {
  more["workspace"] = workspace;
  more["command"] = command;
  return c.start("exec.run", std::move(more));
}

json world::sh(const std::string& command, json more) {
  return c.result(start_sh(command, std::move(more)), 60000ms);
}

json world::run(const std::vector<std::string>& argv, json more) {
  more["workspace"] = workspace;
  more["argv"] = argv;
  return c.call("exec.run", std::move(more), {}, 60000ms);
}

std::string world::out(const std::string& command, json more) {
  const json answer = sh(command, std::move(more));
  REQUIRE_MESSAGE(answer["exit"]["code"] == 0, answer.dump());
  return bytes_of(answer["stdout"]);
}

std::string stubborn_tree(const std::string& mark, const std::string& then) {
  const std::string nap = "exec -a " + mark + " sleep 600";
  return "(setsid bash -c '" + nap +
         "' </dev/null >/dev/null 2>&1 &)\n"  // double fork
         "(setsid bash -c '(setsid bash -c \"" +
         nap +
         "\" &) ; exit' </dev/null >/dev/null 2>&1 &)\n"  // twice
         "bash -c 'trap \"\" TERM HUP INT; " +
         nap +
         "' </dev/null >/dev/null 2>&1 &\n"  // ignores TERM
         "bash -c '" +
         nap +
         "' </dev/null >/dev/null 2>&1 & stopped=$!\n"
         "kill -STOP $stopped\n" +
         then;
}

bool none_alive(const std::string& mark) {
  for (const pid_t pid : processes_with(mark)) {
    const auto state = status_field(pid, "State");
    if (state && state->front() != 'Z' && state->front() != 'X') return false;
  }
  return true;
}

void await_marked(const std::string& mark, std::size_t count) {
  REQUIRE_MESSAGE(eventually([&] { return processes_with(mark).size() >= count; }, 10000ms),
                  "only " << processes_with(mark).size() << " of " << count << " processes came to life");
}

}  // namespace sbx::test
