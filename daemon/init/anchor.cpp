#include "daemon/init/anchor.hpp"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon/init/io.hpp"
#include "daemon/init/reap.hpp"
#include "daemon/init/runner.hpp"
#include "daemon/init/tree.hpp"

namespace sbx::init {

namespace {

constexpr int kill_rounds_per_scan = 8;

void on_child(int) {}

class anchor {
 public:
  anchor(slot& mine, const wire::setup& defaults) : slot_(mine), defaults_(defaults) {}

  [[noreturn]] void run() {
    if (!slot_.taken) fork_runner();
    for (;;) {
      reap();
      const waited what = wait_for_something();
      if (what.report) runner_reported();
      if (what.leash && !handle_leash()) end_tree();
    }
  }

 private:
  struct waited {
    bool report, leash;
  };

  // As long as a runner waits, the leash is its alone. After its alarm, its end of the pipe tells whether it has
  // executed.
  waited wait_for_something() {
    sigset_t open;
    sigfillset(&open);
    sigdelset(&open, SIGCHLD);
    const bool runner_waits = slot_.runner != 0;
    pollfd either = {runner_waits ? (alarmed_ ? report_ : alarm_) : leash_number, POLLIN, 0};
    if (ppoll(&either, 1, nullptr, &open) <= 0) return {false, false};
    if (!runner_waits) return {false, true};
    if (alarmed_) return {true, false};
    alarmed_ = true;
    return {false, false};
  }

  // False when there is no room for another process.
  bool fork_runner() {
    int ends[2];
    const int alarm = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (alarm < 0) return false;
    if (pipe2(ends, O_CLOEXEC) != 0) {
      close(alarm);
      return false;
    }
    const pid_t pid = fork();
    if (pid == 0) {
      dup3(ends[1], report_number, O_CLOEXEC);
      dup3(alarm, alarm_number, O_CLOEXEC);
      close_range(leash_number + 1, report_number - 1, 0);
      run_runner(slot_, defaults_);
    }
    close(ends[1]);
    report_ = ends[0];
    alarm_ = alarm;
    alarmed_ = false;
    if (pid < 0) {
      forget_runner();
      return false;
    }
    slot_.runner = pid;
    return true;
  }

  void forget_runner() {
    close(report_);
    close(alarm_);
    slot_.runner = 0;
  }

  // It has become the command, or has ended.
  void runner_reported() {
    const pid_t runner = slot_.runner;
    const bool ended = slot_.saw_end || slot_.bad_order || slot_.failure_known;
    if (!ended && slot_.taken) {  // or somebody killed it at that very moment, which is the command's end
      slot_.leader = runner;
      forget_runner();
      const wire::started started = {runner};
      send_message(leash_number, wire::message::started, 0, &started, sizeof started);
      slot_.answered = true;  // after it was said: should we be killed between, init says it again
      return;
    }
    forget_runner();
    waitpid(runner, nullptr, 0);
    if (slot_.saw_end || slot_.bad_order) end_tree();
    if (slot_.failure_known) fail_spawn(slot_.failure);
    // Else it was killed while it waited: the next message of the leash starts another.
  }

  void fail_spawn(const wire::spawn_failed& failure) {
    if (slot_.answered) return;
    send_message(leash_number, wire::message::spawn_failed, 0, &failure, sizeof failure);
    slot_.answered = true;
  }

  // False when the leash has ended, by order or for breaking the rules.
  bool handle_leash() {
    if (!slot_.taken) {
      if (fork_runner()) return true;
      slot_.taken = true;
      fail_spawn({wire::stage::fork, wire::reason::resources, EAGAIN});
    }
    received message;
    wire::signal order = {};
    const packet_size got = receive_packet(leash_number, &order, sizeof order, message);
    if (got.ended) return false;
    close_received(message);
    switch (message.head.type) {
      case wire::message::spawn:
        return slot_.answered;  // for want of a process it was refused, or that was killed before it read this
      case wire::message::signal:
        if (got.bytes == sizeof order && slot_.leader != 0) signal(order);
        return got.bytes == sizeof order;
      case wire::message::status:
        tell_state(message.head.serial);
        return true;
      default:
        return false;
    }
  }

  // Reaps whoever has ended and tells of the leader's end and of the last one's.
  void reap() {
    if (slot_.leader == 0) {
      look_at_runner();
      if (slot_.leader == 0) return;
    }
    while (!slot_.end_known) {
      const ended_child end = look_at_end(P_ALL, 0);
      if (end.pid <= 0) return;
      if (end.pid == slot_.leader) {
        slot_.end = end.report;
        slot_.end_known = true;  // before it is reaped: should we be killed now, init still tells it
      }
      waitpid(end.pid, nullptr, 0);
    }
    pid_t pid;
    do pid = waitpid(-1, nullptr, WNOHANG);
    while (pid > 0);
    tell_end(pid < 0 && errno == ECHILD);
  }

  void tell_end(bool nobody_left) {
    if (!slot_.end_told) {
      wire::exited end = slot_.end;
      end.closed = nobody_left;
      send_message(leash_number, wire::message::exited, 0, &end, sizeof end);
      slot_.end_told = true;
    } else if (nobody_left && !slot_.closed_told) {
      send_message(leash_number, wire::message::closed, 0, nullptr, 0);
    }
    if (nobody_left) slot_.closed_told = true;
  }

  void look_at_runner() {
    const pid_t runner = slot_.runner;
    if (runner == 0) return;
    if (look_at_end(P_PID, runner).pid == runner) return runner_reported();
    siginfo_t info = {};
    if (waitid(P_PID, static_cast<id_t>(runner), &info, WSTOPPED | WNOHANG) != 0 || info.si_pid != runner) return;
    // Before it has executed it is never stopped: that would let the spawn wait. A command that stops itself stays so.
    pollfd report = {report_, POLLIN, 0};
    if (poll(&report, 1, 0) > 0) return runner_reported();
    kill(runner, SIGCONT);
  }

  void signal(const wire::signal& order) {
    const int number = static_cast<int>(order.number);
    if (order.target == wire::target::leader) {
      if (!slot_.end_known) kill(slot_.leader, number);  // not reaped yet: the number is still its own
      return;
    }
    signal_descendants(number);
    // A stopped process sees a request to end only when it goes on.
    if (number == SIGTERM || number == SIGHUP) signal_descendants(SIGCONT);
  }

  void tell_state(std::uint32_t serial) {
    const snapshot below = slot_.leader != 0 ? read_descendants(getpid()) : snapshot{nullptr, 0};
    static std::int32_t pids[wire::members_max];
    wire::state state = {0};
    for (std::size_t i = 0; i < below.count && state.count < wire::members_max; ++i)
      if (is_alive(below.entries[i])) pids[state.count++] = below.entries[i].pid;
    send_message(leash_number, wire::message::state, serial, &state, sizeof state, pids, state.count * sizeof pids[0]);
  }

  // From the top: whoever loses its parent becomes our child, where its number is safe until we reap it. That is faster
  // than any storm of forks, and needs no look at the rest of the system.
  [[noreturn]] void end_tree() {
    if (slot_.leader != 0 && !slot_.end_known) kill(-slot_.leader, SIGKILL);
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    for (int round = 1;; ++round) {
      kill_children(nullptr, nullptr);
      if (round % kill_rounds_per_scan == 0) signal_descendants(SIGKILL);
      reap();
      if (slot_.leader == 0) waitpid(-1, nullptr, WNOHANG);
      siginfo_t info;
      if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD) _exit(0);
      const timespec pause = {0, round < 50 ? 1'000'000 : 20'000'000};
      sigtimedwait(&child, nullptr, &pause);
    }
  }

  slot& slot_;
  const wire::setup& defaults_;
  int report_ = -1, alarm_ = -1;  // while there is a runner
  bool alarmed_ = false;
};

}  // namespace

void run_anchor(int leash, slot& mine, const wire::setup& defaults) {
  // Other leashes' ends must not be held here.
  if (leash == leash_number) {
    fcntl(leash, F_SETFD, FD_CLOEXEC);
  } else {
    dup3(leash, leash_number, O_CLOEXEC);
  }
  close_range(leash_number + 1, ~0u, 0);
  setsid();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_NAME, "sbx-anchor");
  struct sigaction action = {};
  action.sa_handler = on_child;
  sigaction(SIGCHLD, &action, nullptr);
  anchor(mine, defaults).run();
}

}  // namespace sbx::init
