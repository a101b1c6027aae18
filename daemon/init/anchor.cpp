#include "daemon/init/anchor.hpp"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <new>

#include "daemon/init/io.hpp"
#include "daemon/init/launch.hpp"
#include "daemon/init/tree.hpp"

namespace sbx::init {

namespace {

void on_child(int) {}

class anchor {
 public:
  anchor(int leash, slot& mine, const wire::setup& defaults) : leash_(leash), slot_(mine), defaults_(defaults) {}

  [[noreturn]] void run() {
    for (;;) {
      reap();
      if (!wait_for_something()) continue;
      received message;
      const receive_result got = receive_header(leash_, message);
      if (got == receive_result::again) continue;
      if (got == receive_result::ended || !handle(message)) end_tree();
    }
  }

 private:
  // True when the leash has something to say.
  bool wait_for_something() {
    sigset_t open;
    sigfillset(&open);
    sigdelset(&open, SIGCHLD);
    pollfd leash = {leash_, POLLIN, 0};
    return ppoll(&leash, 1, nullptr, &open) > 0;
  }

  bool handle(received& message) {
    switch (message.head.type) {
      case wire::message::spawn:
        return spawn(message);
      case wire::message::signal: {
        wire::signal order;
        if (message.head.bytes != sizeof order || !receive_exactly(leash_, &order, sizeof order)) return false;
        signal(order);
        return true;
      }
      case wire::message::status:
        tell_state(message.head.serial);
        return message.head.bytes == 0;
      default:
        return false;
    }
  }

  bool spawn(received& message) {
    wire::spawn head;
    if (slot_.taken || message.head.bytes <= sizeof head || message.head.bytes > wire::spawn_bytes_max ||
        message.fd_count < 3 || !receive_exactly(leash_, &head, sizeof head))
      return false;
    slot_.taken = true;
    const std::size_t bytes = message.head.bytes - sizeof head;
    // Counts are bounded by the text: every string takes at least its NUL.
    if (head.root_count > bytes || head.argv_count > bytes || head.env_count > bytes) return false;
    const std::size_t pointers = static_cast<std::size_t>(head.root_count) + head.argv_count + head.env_count + 2;
    const std::size_t room = ((bytes + 15) & ~std::size_t{15}) + pointers * sizeof(char*);
    char* text = static_cast<char*>(room <= sizeof small_ ? static_cast<void*>(small_) : map(room));
    if (!text) return fail_spawn(message, {wire::stage::fork, wire::reason::resources, ENOMEM});
    if (!receive_exactly(leash_, text, bytes)) return false;
    command wanted;
    if (!parse_command(head, text, bytes, reinterpret_cast<char**>(text + ((bytes + 15) & ~std::size_t{15})), wanted))
      return false;
    wanted.fds = message.fds;
    wanted.fd_count = message.fd_count;
    const launched made = launch(wanted, defaults_);
    for (int i = 0; i < message.fd_count; ++i) close(message.fds[i]);
    if (text != small_) munmap(text, room);
    if (made.pid == 0) {
      send_message(leash_, wire::message::spawn_failed, message.head.serial, &made.failure, sizeof made.failure);
      return true;
    }
    slot_.leader = made.pid;
    const wire::started started = {made.pid};
    send_message(leash_, wire::message::started, message.head.serial, &started, sizeof started);
    return true;
  }

  bool fail_spawn(received& message, wire::spawn_failed failure) {
    for (int i = 0; i < message.fd_count; ++i) close(message.fds[i]);
    send_message(leash_, wire::message::spawn_failed, message.head.serial, &failure, sizeof failure);
    return false;
  }

  static void* map(std::size_t bytes) {
    void* made = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return made == MAP_FAILED ? nullptr : made;
  }

  // Reaps whoever has ended and tells of the leader's end and of the last one's.
  void reap() {
    for (;;) {
      int status;
      rusage usage;
      const pid_t pid = wait4(-1, &status, WNOHANG, &usage);
      if (pid == 0) return;
      if (pid < 0) {
        if (errno == EINTR) continue;
        if (slot_.end_known && !slot_.closed_told) {
          slot_.closed_told = true;
          send_message(leash_, wire::message::closed, 0, nullptr, 0);
        }
        return;
      }
      if (pid == slot_.leader && !slot_.end_known) tell_end(status, usage);
    }
  }

  void tell_end(int status, const rusage& usage) {
    slot_.end = {status,
                 0,
                 usage.ru_utime.tv_sec * 1'000'000LL + usage.ru_utime.tv_usec,
                 usage.ru_stime.tv_sec * 1'000'000LL + usage.ru_stime.tv_usec,
                 usage.ru_maxrss};
    slot_.end_known = true;
    send_message(leash_, wire::message::exited, 0, &slot_.end, sizeof slot_.end);
    slot_.end_told = true;
  }

  void signal(const wire::signal& order) {
    const int number = static_cast<int>(order.number);
    if (!slot_.leader) return;
    if (order.target == wire::target::leader) {
      if (!slot_.end_known) kill(slot_.leader, number);  // not reaped yet: the number is still its own
      return;
    }
    signal_descendants(number);
    // A stopped process sees a request to end only when it goes on.
    if (number == SIGTERM || number == SIGHUP) signal_descendants(SIGCONT);
  }

  void tell_state(std::uint32_t serial) {
    const snapshot below = read_descendants(getpid());
    static std::int32_t pids[wire::processes_max];
    wire::state state = {0};
    for (std::size_t i = 0; i < below.count && state.count < wire::processes_max; ++i)
      if (below.entries[i].state != 'Z' && below.entries[i].state != 'X') pids[state.count++] = below.entries[i].pid;
    send_message(leash_, wire::message::state, serial, &state, sizeof state, pids, state.count * sizeof pids[0]);
  }

  [[noreturn]] void end_tree() {
    if (slot_.leader && !slot_.end_known) kill(-slot_.leader, SIGKILL);
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    for (;;) {
      signal_descendants(SIGKILL);
      reap();
      siginfo_t info;
      if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD) _exit(0);
      const timespec pause = {0, 2'000'000};
      sigtimedwait(&child, nullptr, &pause);
    }
  }

  int leash_;
  slot& slot_;
  const wire::setup& defaults_;
  alignas(16) char small_[16384];
};

}  // namespace

void run_anchor(int leash, slot& mine, const wire::setup& defaults) {
  // The lowest number that is free for good, everything else goes: other leashes' ends must not be held here.
  dup2(leash, 3);
  close_range(4, ~0u, 0);
  setsid();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_NAME, "sbx-anchor");
  struct sigaction action = {};
  action.sa_handler = on_child;
  sigaction(SIGCHLD, &action, nullptr);
  static char memory[sizeof(anchor)];
  (new (memory) anchor(3, mine, defaults))->run();
}

}  // namespace sbx::init
