#include "daemon/init/init.hpp"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <new>

#include "daemon/init/anchor.hpp"
#include "daemon/init/io.hpp"
#include "daemon/init/reap.hpp"
#include "daemon/init/tree.hpp"

namespace sbx::init {

namespace {

constexpr std::int64_t anchor_end_ms = 5000;       // from end-of-file of its leash to being killed
constexpr std::int64_t anchor_idle_end_ms = 1000;  // the same when its tree is empty already
constexpr int watch_ms = 50;                       // between looks at anchors that are to end
constexpr int orphan_round_ms = 5;                 // between rounds of killing what has lost its anchor
constexpr int kill_rounds_per_scan = 8;

std::int64_t now_ms() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000 + time.tv_nsec / 1'000'000;
}

class init {
 public:
  explicit init(const options& wanted) : options_(wanted) {}

  [[noreturn]] void run() {
    slots_ = make_slots();
    events_ = epoll_create1(EPOLL_CLOEXEC);
    if (!slots_ || events_ < 0 || !watch(options_.control, EPOLLIN, nullptr)) _exit(1);
    if (!set_up()) end_everything();
    for (;;) {
      reap();
      finish_orphans();
      finish_overdue();
      if (!wait_for_something()) continue;
      received message;
      const receive_result got = receive_header(options_.control, message);
      if (got == receive_result::again) continue;
      if (got == receive_result::ended || !handle(message)) end_everything();
    }
  }

 private:
  bool watch(int fd, std::uint32_t what, slot* place) {
    epoll_event event = {};
    event.events = what;
    event.data.ptr = place;
    return epoll_ctl(events_, EPOLL_CTL_ADD, fd, &event) == 0;
  }

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

  // True when the control socket has something to say.
  bool wait_for_something() {
    sigset_t open;
    sigfillset(&open);
    sigdelset(&open, SIGCHLD);
    epoll_event found[32];
    const int timeout = orphans_ ? orphan_round_ms : ending_ > 0 ? watch_ms : -1;
    const int count = epoll_pwait(events_, found, 32, timeout, &open);
    bool control = false;
    for (int i = 0; i < count; ++i) {
      if (auto* place = static_cast<slot*>(found[i].data.ptr)) {
        leash_ended(*place);
      } else {
        control = true;
      }
    }
    return control;
  }

  void leash_ended(slot& place) {
    epoll_ctl(events_, EPOLL_CTL_DEL, place.leash, nullptr);
    if (place.ended_at_ms == 0) ++ending_;
    place.ended_at_ms = now_ms();
  }

  bool handle(received& message) {
    switch (message.head.type) {
      case wire::message::anchor:
        if (message.fd_count != 1 || message.head.bytes != 0) return false;
        add_anchor(message.fds[0]);
        return true;
      case wire::message::list:
        close_received(message);
        tell_processes(message.head.serial);
        return message.head.bytes == 0;
      default:
        return false;
    }
  }

  slot* free_slot() {
    for (std::size_t i = 0; i < slots_max; ++i) {
      if (slots_[i].anchor != 0 || slots_[i].orphaned) continue;
      if (i >= used_) used_ = i + 1;
      return new (&slots_[i]) slot();
    }
    return nullptr;
  }

  void add_anchor(int leash) {
    slot* place = free_slot();
    int error = EAGAIN;
    if (place) {
      place->leash = leash;
      if (watch(leash, EPOLLRDHUP, place) && fork_anchor(*place)) return;
      error = errno;
      epoll_ctl(events_, EPOLL_CTL_DEL, leash, nullptr);
    }
    refuse(leash, error);
    close(leash);
  }

  static void refuse(int leash, int error) {
    const wire::spawn_failed failure = {wire::stage::fork, wire::reason::resources, error};
    send_message(leash, wire::message::spawn_failed, 0, &failure, sizeof failure);
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

  void reap() {
    for (;;) {
      const ended_child end = look_at_end(P_ALL, 0);
      if (end.pid <= 0) break;
      if (slot* place = slot_of_anchor(end.pid)) {
        anchor_ended(*place);
      } else {
        note_leader(end);
      }
      waitpid(end.pid, nullptr, 0);
    }
    continue_stopped();
  }

  // An anchor is never stopped; whatever else is ours is being killed anyway.
  void continue_stopped() {
    siginfo_t info = {};
    while (waitid(P_ALL, 0, &info, WSTOPPED | WNOHANG) == 0 && info.si_pid != 0) {
      kill(info.si_pid, SIGCONT);
      info = {};
    }
  }

  // A leader that has lost its anchor: its end is known here alone.
  void note_leader(const ended_child& end) {
    for (std::size_t i = 0; i < used_; ++i) {
      slot& place = slots_[i];
      if (!place.orphaned || place.end_known) continue;
      if (place.runner == end.pid && place.taken && !place.failure_known && !place.saw_end && !place.bad_order) {
        place.leader = end.pid;  // it had become the command, and the anchor had no time to say so
        place.runner = 0;
      }
      if (place.leader != end.pid) continue;
      place.end = end.report;
      place.end_known = true;
      return;
    }
  }

  void anchor_ended(slot& place) {
    place.anchor = 0;
    if (place.ended_at_ms == 0) {
      // Perhaps the end-of-file came just now.
      pollfd leash = {place.leash, POLLRDHUP, 0};
      if (poll(&leash, 1, 0) > 0) leash_ended(place);
    }
    const bool finished = place.ended_at_ms != 0 && (place.leader == 0 || place.closed_told) && place.runner == 0;
    if (finished) return forget(place);
    place.orphaned = true;
    orphans_ = true;
  }

  void forget(slot& place) {
    if (place.ended_at_ms == 0) epoll_ctl(events_, EPOLL_CTL_DEL, place.leash, nullptr);
    if (place.ended_at_ms != 0) --ending_;
    close(place.leash);
    place.leash = -1;
    place.orphaned = false;
    while (used_ > 0 && slots_[used_ - 1].anchor == 0 && !slots_[used_ - 1].orphaned) --used_;
  }

  // What fell to us when its anchor was killed: all of it is killed; when nothing is left, its leashes hear the end.
  void finish_orphans() {
    if (!orphans_) return;
    const auto is_anchor = [](void* self, pid_t pid) {
      return static_cast<init*>(self)->slot_of_anchor(pid) != nullptr;
    };
    if (kill_children(is_anchor, this) > 0) return;
    reap();  // the last one may have ended between the last look and this
    orphans_ = false;
    for (std::size_t i = 0; i < used_; ++i)
      if (slots_[i].orphaned) finish(slots_[i]);
  }

  void finish(slot& place) {
    // A spare was killed: another takes its leash.
    if (place.ended_at_ms == 0 && !place.taken && place.leader == 0) {
      place.orphaned = false;
      place.runner = 0;
      if (fork_anchor(place)) return;
      refuse(place.leash, EAGAIN);
      return forget(place);
    }
    if (place.leader != 0) {
      tell_end(place);
    } else if (!place.answered && place.failure_known) {
      send_message(place.leash, wire::message::spawn_failed, 0, &place.failure, sizeof place.failure);
    } else if (!place.answered && place.taken) {
      refuse(place.leash, ECHILD);
    }
    forget(place);
  }

  static void tell_end(slot& place) {
    if (!place.end_told) {
      const wire::started started = {place.leader};
      if (!place.answered) send_message(place.leash, wire::message::started, 0, &started, sizeof started);
      if (!place.end_known) place.end.wait_status = SIGKILL;
      place.end.closed = 1;
      send_message(place.leash, wire::message::exited, 0, &place.end, sizeof place.end);
    } else if (!place.closed_told) {
      send_message(place.leash, wire::message::closed, 0, nullptr, 0);
    }
  }

  void finish_overdue() {
    if (ending_ == 0) return;
    const std::int64_t now = now_ms();
    for (std::size_t i = 0; i < used_; ++i) {
      slot& place = slots_[i];
      if (place.anchor == 0 || place.ended_at_ms == 0) continue;
      const bool empty = place.leader == 0 || place.closed_told;
      if (now - place.ended_at_ms >= (empty ? anchor_idle_end_ms : anchor_end_ms)) kill(place.anchor, SIGKILL);
    }
  }

  bool is_ours(pid_t pid) {
    for (std::size_t i = 0; i < used_; ++i)
      if (slots_[i].anchor != 0 && (slots_[i].anchor == pid || slots_[i].runner == pid)) return true;
    return false;
  }

  void tell_processes(std::uint32_t serial) {
    // Room behind the last process for all arguments: what is sent is one piece.
    static wire::process told[wire::processes_max + wire::all_arguments_bytes_max / sizeof(wire::process) + 1];
    static char arguments[wire::all_arguments_bytes_max];
    const snapshot below = read_descendants(getpid());
    const std::int64_t page = sysconf(_SC_PAGESIZE), tick = sysconf(_SC_CLK_TCK);
    wire::listed head = {0, 0};
    for (std::size_t i = 0; i < below.count; ++i) {
      const process_entry& entry = below.entries[i];
      if (is_ours(entry.pid)) continue;
      if (head.count == wire::processes_max) break;
      const std::size_t left = sizeof arguments - head.arguments_bytes;
      const auto bytes = static_cast<std::uint32_t>(
          read_arguments(entry.pid, arguments + head.arguments_bytes,
                         left < wire::arguments_bytes_max ? left : wire::arguments_bytes_max));
      head.arguments_bytes += bytes;
      told[head.count++] = {entry.pid,
                            entry.ppid,
                            leader_of(entry, below),
                            static_cast<std::uint32_t>(entry.state),
                            entry.rss_pages * page,
                            entry.cpu_ticks * 1000 / tick,
                            bytes,
                            0};
    }
    char* const front = reinterpret_cast<char*>(told) + head.count * sizeof told[0];
    memcpy(front, arguments, head.arguments_bytes);
    send_message(options_.control, wire::message::listed, serial, &head, sizeof head, told,
                 head.count * sizeof told[0] + head.arguments_bytes);
  }

  // Up the parents to the anchor: its slot knows the leader.
  pid_t leader_of(const process_entry& entry, const snapshot& below) {
    pid_t parent = entry.ppid;
    for (std::size_t steps = 0; steps < below.count; ++steps) {
      if (const slot* place = slot_of_anchor(parent)) return place->leader;
      const process_entry* up = find_process(below, parent);
      if (!up) return 0;
      parent = up->ppid;
    }
    return 0;
  }

  [[noreturn]] void end_everything() {
    if (options_.whole_namespace) _exit(0);  // the kernel kills and reaps the namespace before we are gone
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    for (int round = 1;; ++round) {
      kill_children(nullptr, nullptr);
      if (round % kill_rounds_per_scan == 0) signal_descendants(SIGKILL);
      pid_t pid;
      do pid = waitpid(-1, nullptr, WNOHANG);
      while (pid > 0);
      if (pid < 0 && errno == ECHILD) _exit(0);
      const timespec pause = {0, round < 50 ? 1'000'000 : 20'000'000};
      sigtimedwait(&child, nullptr, &pause);
    }
  }

  options options_;
  wire::setup defaults_ = {};
  slot* slots_ = nullptr;
  std::size_t used_ = 0;  // slots beyond were never used or are free
  int events_ = -1;
  int ending_ = 0;  // how many leashes have ended whose slots are not forgotten
  bool orphans_ = false;
};

void on_child(int) {}

}  // namespace

slot* make_slots() {
  void* made = mmap(nullptr, sizeof(slot) * slots_max, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return made == MAP_FAILED ? nullptr : static_cast<slot*>(made);
}

void run_init(const options& wanted) {
  struct sigaction action = {};
  action.sa_handler = on_child;
  sigaction(SIGCHLD, &action, nullptr);
  init(wanted).run();
}

}  // namespace sbx::init
