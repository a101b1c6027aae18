#include "daemon/init/init.hpp"

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

#include "daemon/init/anchor.hpp"
#include "daemon/init/io.hpp"
#include "daemon/init/tree.hpp"

namespace sbx::init {

namespace {

constexpr std::int64_t anchor_end_ms = 5000;       // from end-of-file of its leash to being killed
constexpr std::int64_t anchor_idle_end_ms = 1000;  // the same when its tree is empty already

std::int64_t now_ms() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000 + time.tv_nsec / 1'000'000;
}

sigset_t all_but_child() {
  sigset_t set;
  sigfillset(&set);
  sigdelset(&set, SIGCHLD);
  return set;
}

class init {
 public:
  explicit init(const options& wanted) : options_(wanted) {}

  [[noreturn]] void run() {
    slots_ = make_slots();
    if (!slots_) _exit(1);
    polled_ = static_cast<pollfd*>(mmap(nullptr, sizeof(pollfd) * (slots_max + 1), PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    polled_slots_ = static_cast<slot**>(mmap(nullptr, sizeof(slot*) * (slots_max + 1), PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (polled_ == MAP_FAILED || polled_slots_ == MAP_FAILED) _exit(1);
    if (!set_up()) end_everything();
    for (;;) {
      reap();
      finish_orphans();
      finish_overdue();
      wait_for_something();
      if (polled_[0].revents == 0) continue;
      received message;
      const receive_result got = receive_header(options_.control, message);
      if (got == receive_result::again) continue;
      if (got == receive_result::ended || !handle(message)) end_everything();
    }
  }

 private:
  bool set_up() {
    pollfd control = {options_.control, POLLIN, 0};
    while (poll(&control, 1, -1) < 0 && errno == EINTR) {
    }
    received message;
    if (receive_header(options_.control, message) != receive_result::ok || message.head.type != wire::message::setup ||
        message.head.bytes != sizeof defaults_ || !receive_exactly(options_.control, &defaults_, sizeof defaults_) ||
        defaults_.version != wire::version || defaults_.rlimit_count > wire::rlimit_count_max)
      return false;
    if (defaults_.rlimit_count == 0) {
      const rlimit& found = options_.descriptors;
      defaults_.rlimits[defaults_.rlimit_count++] = {RLIMIT_NOFILE, 0, found.rlim_cur, found.rlim_max};
    }
    const int devpts = options_.whole_namespace ? open("/dev/pts", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    const wire::ready ready = {wire::version, getuid(), getgid(), devpts >= 0};
    send_message(options_.control, wire::message::ready, message.head.serial, &ready, sizeof ready, nullptr, 0, devpts);
    if (devpts >= 0) close(devpts);
    return true;
  }

  void wait_for_something() {
    nfds_t count = 0;
    polled_[count] = {options_.control, POLLIN, 0};
    polled_slots_[count++] = nullptr;
    bool waiting = false;
    for (std::size_t i = 0; i < used_; ++i) {
      if (!slots_[i].anchor && !slots_[i].orphaned) continue;
      if (slots_[i].ended_at_ms || slots_[i].orphaned) {
        waiting = true;
        continue;
      }
      polled_[count] = {slots_[i].leash, POLLRDHUP, 0};
      polled_slots_[count++] = &slots_[i];
    }
    const sigset_t open = all_but_child();
    const timespec soon = {0, orphans_ ? 5'000'000 : 100'000'000};
    polled_[0].revents = 0;
    if (ppoll(polled_, count, waiting || orphans_ ? &soon : nullptr, &open) <= 0) {
      polled_[0].revents = 0;
      return;
    }
    for (nfds_t i = 1; i < count; ++i)
      if (polled_[i].revents) polled_slots_[i]->ended_at_ms = now_ms();
  }

  bool handle(received& message) {
    switch (message.head.type) {
      case wire::message::anchor:
        if (message.fd_count != 1 || message.head.bytes != 0) return false;
        add_anchor(message.fds[0], message.head.serial);
        return true;
      case wire::message::list:
        tell_processes(message.head.serial);
        return message.head.bytes == 0;
      default:
        return false;
    }
  }

  void add_anchor(int leash, std::uint32_t serial) {
    slot* place = nullptr;
    for (std::size_t i = 0; i < slots_max && !place; ++i)
      if (!slots_[i].anchor && !slots_[i].orphaned) {
        place = &slots_[i];
        if (i >= used_) used_ = i + 1;
      }
    const int error = place ? 0 : EAGAIN;
    if (place) {
      memset(static_cast<void*>(place), 0, sizeof *place);
      place->leash = leash;
      place->serial = serial;
      if (fork_anchor(*place)) return;
    }
    close(leash);
    const wire::anchor_failed failure = {error ? error : errno};
    send_message(options_.control, wire::message::anchor_failed, serial, &failure, sizeof failure);
  }

  bool fork_anchor(slot& place) {
    const pid_t pid = fork();
    if (pid == 0) run_anchor(place.leash, place, defaults_);
    if (pid < 0) return false;
    place.anchor = pid;
    return true;
  }

  slot* slot_of_anchor(pid_t pid) {
    for (std::size_t i = 0; i < used_; ++i)
      if (slots_[i].anchor == pid) return &slots_[i];
    return nullptr;
  }

  slot* slot_of_leader(pid_t pid) {
    for (std::size_t i = 0; i < used_; ++i)
      if (slots_[i].orphaned && slots_[i].leader == pid && !slots_[i].end_known) return &slots_[i];
    return nullptr;
  }

  void reap() {
    for (;;) {
      int status;
      rusage usage;
      const pid_t pid = wait4(-1, &status, WNOHANG | WUNTRACED, &usage);
      if (pid <= 0) return;
      if (WIFSTOPPED(status)) {
        kill(pid, SIGCONT);  // an anchor is never stopped; whatever else is ours is being killed anyway
        continue;
      }
      if (slot* place = slot_of_anchor(pid)) {
        anchor_ended(*place);
      } else if (slot* told = slot_of_leader(pid)) {
        told->end = {status, 0, usage.ru_utime.tv_sec * 1'000'000LL + usage.ru_utime.tv_usec,
                     usage.ru_stime.tv_sec * 1'000'000LL + usage.ru_stime.tv_usec, usage.ru_maxrss};
        told->end_known = true;
      }
    }
  }

  void anchor_ended(slot& place) {
    place.anchor = 0;
    if (place.ended_at_ms == 0) {
      // Perhaps the end-of-file came just now.
      pollfd leash = {place.leash, POLLRDHUP, 0};
      if (poll(&leash, 1, 0) > 0) place.ended_at_ms = now_ms();
    }
    if (place.ended_at_ms == 0 && !place.taken && fork_anchor(place)) return;  // a spare was killed: another takes its leash
    orphans_ = true;
    place.orphaned = true;
  }

  // What fell to us when its anchor was killed: all of it is killed; when nothing is left, its leashes hear the end.
  void finish_orphans() {
    if (!orphans_) return;
    if (kill_strays()) return;
    for (std::size_t i = 0; i < used_; ++i) {
      slot& place = slots_[i];
      if (!place.orphaned) continue;
      if (place.taken && !place.leader) {
        const wire::spawn_failed failure = {wire::stage::fork, wire::reason::resources, ECHILD};
        send_message(place.leash, wire::message::spawn_failed, 0, &failure, sizeof failure);
      } else if (place.leader && !place.end_told) {
        if (!place.end_known) place.end.wait_status = SIGKILL;
        send_message(place.leash, wire::message::exited, 0, &place.end, sizeof place.end);
      }
      if (!place.closed_told) send_message(place.leash, wire::message::closed, 0, nullptr, 0);
      close(place.leash);
      place.orphaned = false;
    }
    orphans_ = false;
    while (used_ > 0 && !slots_[used_ - 1].anchor && !slots_[used_ - 1].orphaned) --used_;
  }

  // Kills every child of ours that is no anchor (unreaped: the number is its own). True while there are any.
  bool kill_strays() {
    const snapshot all = read_processes();
    const pid_t self = getpid();
    bool any = false;
    for (std::size_t i = 0; i < all.count; ++i) {
      if (all.entries[i].ppid != self || slot_of_anchor(all.entries[i].pid)) continue;
      any = true;
      kill(all.entries[i].pid, SIGKILL);
    }
    return any;
  }

  void finish_overdue() {
    const std::int64_t now = now_ms();
    for (std::size_t i = 0; i < used_; ++i) {
      slot& place = slots_[i];
      if (!place.anchor || !place.ended_at_ms) continue;
      const bool empty = !place.leader || place.closed_told;
      if (now - place.ended_at_ms >= (empty ? anchor_idle_end_ms : anchor_end_ms)) kill(place.anchor, SIGKILL);
    }
  }

  void tell_processes(std::uint32_t serial) {
    static wire::process told[wire::processes_max];
    const snapshot below = read_descendants(getpid());
    const std::int64_t page = sysconf(_SC_PAGESIZE), tick = sysconf(_SC_CLK_TCK);
    wire::listed head = {0, 0};
    for (std::size_t i = 0; i < below.count; ++i) {
      const process_entry& entry = below.entries[i];
      if (slot_of_anchor(entry.pid)) continue;
      if (head.count == wire::processes_max) {
        head.truncated = 1;
        break;
      }
      told[head.count++] = {entry.pid, entry.ppid, leader_of(entry, below), static_cast<std::uint32_t>(entry.state),
                            entry.rss_pages * page, entry.cpu_ticks * 1000 / tick};
    }
    send_message(options_.control, wire::message::listed, serial, &head, sizeof head, told,
                 head.count * sizeof told[0]);
  }

  // Up the parents to the anchor: its slot knows the leader.
  pid_t leader_of(const process_entry& entry, const snapshot& below) {
    pid_t parent = entry.ppid;
    for (std::size_t steps = 0; steps < below.count; ++steps) {
      if (const slot* place = slot_of_anchor(parent)) return place->leader;
      const process_entry* up = nullptr;
      for (std::size_t i = 0; i < below.count && !up; ++i)
        if (below.entries[i].pid == parent) up = &below.entries[i];
      if (!up) return 0;
      parent = up->ppid;
    }
    return 0;
  }

  [[noreturn]] void end_everything() {
    if (options_.whole_namespace) _exit(0);  // the kernel kills and reaps the namespace before we are gone
    for (std::size_t i = 0; i < used_; ++i)
      if (slots_[i].anchor) kill(slots_[i].anchor, SIGKILL);
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    for (;;) {
      signal_descendants(SIGKILL);
      pid_t pid;
      while ((pid = waitpid(-1, nullptr, WNOHANG)) > 0) {
      }
      if (pid < 0 && errno == ECHILD) _exit(0);
      const timespec pause = {0, 2'000'000};
      sigtimedwait(&child, nullptr, &pause);
    }
  }

  options options_;
  wire::setup defaults_ = {};
  slot* slots_ = nullptr;
  std::size_t used_ = 0;  // slots beyond were never used or are free
  pollfd* polled_ = nullptr;
  slot** polled_slots_ = nullptr;
  bool orphans_ = false;
};

void on_child(int) {}

}  // namespace

slot* make_slots() {
  void* made =
      mmap(nullptr, sizeof(slot) * slots_max, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return made == MAP_FAILED ? nullptr : static_cast<slot*>(made);
}

void run_init(const options& wanted) {
  struct sigaction action = {};
  action.sa_handler = on_child;
  sigaction(SIGCHLD, &action, nullptr);
  static char memory[sizeof(init)];
  (new (memory) init(wanted))->run();
}

}  // namespace sbx::init
