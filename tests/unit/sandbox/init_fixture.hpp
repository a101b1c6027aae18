// A real sbx-init on the host (as backend `none` starts it) behind an init_link, and commands run through it.
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/async/run.hpp"
#include "daemon/async/task_group.hpp"
#include "daemon/sandbox/init_link.hpp"
#include "daemon/sys/child.hpp"
#include "daemon/sys/message_socket.hpp"

namespace sbx::sandbox::test {

namespace asio = async::asio;
using namespace std::chrono_literals;

// Runs a task to its end on `context`, at most 20 s.
template <class T>
T wait_for(asio::io_context& context, async::task<T> work) {
  async::task_group group(context.get_executor());
  std::optional<T> value;
  group.spawn("a test", [](async::task<T> work_, std::optional<T>& into) -> async::task<void> {
    into.emplace(co_await std::move(work_));
  }(std::move(work), value));
  const auto limit = std::chrono::steady_clock::now() + 20s;
  context.restart();
  while (!value && std::chrono::steady_clock::now() < limit) context.run_one_for(1s);
  REQUIRE_MESSAGE(value.has_value(), "a test's task did not end in time");
  return std::move(*value);
}

inline bool wait_for(asio::io_context& context, async::task<void> work) {
  return wait_for(context, [](async::task<void> work_) -> async::task<bool> {
    co_await std::move(work_);
    co_return true;
  }(std::move(work)));
}

inline std::string read_all(sys::fd_ref from) {
  std::string text;
  char chunk[4096];
  pollfd ready{from.get(), POLLIN, 0};
  while (::poll(&ready, 1, 20'000) > 0) {
    const ssize_t got = ::read(from.get(), chunk, sizeof chunk);
    if (got <= 0) break;
    text.append(chunk, static_cast<std::size_t>(got));
  }
  return text;
}

enum class where { host, own_namespace };

class real_init {
 public:
  explicit real_init(link_options options = link_options(), where place = where::host) {
    auto ends = sys::open_socket_pair(SOCK_STREAM).value();
    ::fcntl(ends.first.get(), F_SETFL, O_NONBLOCK);
    sys::child_setup setup;
    setup.path = SBX_BUILD_BIN "/sbx-init";
    setup.argv = {"sbx-init", "--control", "3", "--subreaper"};
    setup.descriptors = {{ends.second, 3}, {sys::fd_ref(2), 2}};
    if (place == where::own_namespace) {
      setup.path = "/usr/bin/bwrap";
      setup.argv = {"bwrap",
                    "--unshare-user",
                    "--unshare-pid",
                    "--as-pid-1",
                    "--cap-drop",
                    "ALL",
                    "--dev-bind",
                    "/",
                    "/",
                    "--proc",
                    "/proc",
                    "--die-with-parent",
                    "--",
                    SBX_BUILD_BIN "/sbx-init",
                    "--control",
                    "3"};
      setup.death_signal = SIGKILL;
    }
    auto started = sys::start_child(setup);
    REQUIRE(started);
    child = std::move(*started);
    options.end_timeout.reset();
    link = std::make_unique<init_link>(context, std::move(ends.first), std::move(options));
    const auto ready = wait_for(context, link->ready());
    REQUIRE(ready);
  }
  ~real_init() {
    link->end();
    wait_for(context, link->wait_dead());
    CHECK(init_ended(10'000));
    link.reset();
    context.restart();
    context.run_for(20ms);
  }

  // Reaps it when it has.
  bool init_ended(int timeout_ms) {
    pollfd end{child.pidfd.get(), POLLIN, 0};
    if (::poll(&end, 1, timeout_ms) <= 0) return reaped_;
    if (!std::exchange(reaped_, true)) (void)sys::reap(child.pidfd);
    return true;
  }

  asio::io_context context;
  async::strand strand{context.get_executor()};
  sys::child child;
  std::unique_ptr<init_link> link;

 private:
  bool reaped_ = false;
};

// One command, its pipes and its leash.
struct run {
  run(real_init& init, std::vector<std::string> argv, std::vector<std::string> env = default_env()) : init_(init) {
    request.argv = std::move(argv);
    request.env = std::move(env);
    request.cwd = "/";
  }
  static std::vector<std::string> default_env() { return {"PATH=/usr/local/bin:/usr/bin:/bin"}; }
  static std::vector<std::string> shell(std::string line) { return {"bash", "-c", std::move(line)}; }

  result<pid_t> start() {
    int out[2], err[2];
    REQUIRE(::pipe2(out, O_CLOEXEC) == 0);
    REQUIRE(::pipe2(err, O_CLOEXEC) == 0);
    output.reset(out[0]);
    errors.reset(err[0]);
    request.stdin_fd.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    request.stdout_fd.reset(out[1]);
    request.stderr_fd.reset(err[1]);
    auto opened = wait_for(init_.context, init_.link->open_leash(init_.strand));
    if (!opened) return fail(opened.error());
    rope = std::move(*opened);
    return on_strand(rope->spawn(std::move(request)));
  }
  leader_end wait_exited() { return on_strand(rope->wait_exited()); }
  void wait_closed() { wait_for(init_.context, async::on(asio::any_io_executor(init_.strand), rope->wait_closed())); }
  int survivors() { return on_strand(rope->survivors()); }
  std::vector<pid_t> members() { return on_strand(rope->members()); }
  void signal(int number, signal_target target) {
    on_strand([](leash& to, int number_, signal_target target_) -> async::task<bool> {
      to.signal(number_, target_);
      co_return true;
    }(*rope, number, target));
  }
  void end() {
    on_strand([](leash& to) -> async::task<bool> {
      to.end();
      co_return true;
    }(*rope));
  }
  // Starts it, waits for its end and answers what it wrote.
  std::string output_of() {
    const auto started = start();
    REQUIRE_MESSAGE(started, (started ? "" : started.error().message));
    wait_exited();
    return read_all(output);
  }

  spawn_request request;
  sys::unique_fd output, errors;
  std::unique_ptr<leash> rope;

 private:
  template <class T>
  T on_strand(async::task<T> work) {
    return wait_for(init_.context, async::on(asio::any_io_executor(init_.strand), std::move(work)));
  }
  real_init& init_;
};

inline std::string detail_of(const error& e, const std::string& name) {
  for (const auto& [key, value] : e.details)
    if (key == name)
      if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return {};
}

}  // namespace sbx::sandbox::test
