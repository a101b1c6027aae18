#include "daemon/init/runner.hpp"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "daemon/init/command.hpp"
#include "daemon/init/directory.hpp"
#include "daemon/init/io.hpp"
#include "daemon/init/program.hpp"

namespace sbx::init {

namespace {

// As they are used: a short message touches a page or two of them.
alignas(16) char packet[wire::packet_bytes_max];
char* few_pointers[1024];

void apply_limits(const wire::setup& defaults) {
  for (std::uint32_t i = 0; i < defaults.rlimit_count; ++i) {
    const auto& entry = defaults.rlimits[i];
    const auto resource = static_cast<__rlimit_resource>(entry.resource);
    const rlimit wanted = {entry.soft, entry.hard};
    if (setrlimit(resource, &wanted) == 0) continue;
    // Inside a user namespace a hard limit cannot be raised back; the soft one then goes as high as it may.
    rlimit have;
    if (getrlimit(resource, &have) != 0) continue;
    have.rlim_cur = entry.soft < have.rlim_max ? entry.soft : have.rlim_max;
    setrlimit(resource, &have);
  }
  umask(defaults.umask);
}

void* map(std::size_t bytes, int file) {
  const int flags = file >= 0 ? MAP_PRIVATE : MAP_PRIVATE | MAP_ANONYMOUS;
  void* made = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
  return made == MAP_FAILED ? nullptr : made;
}

class runner {
 public:
  runner(slot& mine, const wire::setup& defaults) : slot_(mine), defaults_(defaults) {}

  [[noreturn]] void run() {
    setsid();
    apply_limits(defaults_);
    struct sigaction standard = {};
    standard.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &standard, nullptr);
    wait_for_order();
    take_order();
    const entered place = enter_directory(command_.cwd, command_.roots, command_.root_count);
    if (place.error != 0) give_up(wire::stage::cwd, place.reason, place.error);
    place_descriptors();
    if ((head_.flags & wire::spawn_controlling_terminal) && ioctl(0, TIOCSCTTY, 0) != 0)
      give_up(wire::stage::pty, wire::reason::other, errno);
    restore_signals();
    const itimerspec soon = {{0, 0}, {0, told_after_ns}};
    timerfd_settime(alarm_number, 0, &soon, nullptr);
    give_up(execute(command_.argv, command_.environment, command_.search_path));
  }

 private:
  [[noreturn]] void give_up(wire::stage stage, wire::reason reason, int error) { give_up({stage, reason, error}); }
  [[noreturn]] void give_up(const wire::spawn_failed& failure) {
    slot_.failure = failure;
    slot_.failure_known = true;
    _exit(127);
  }
  [[noreturn]] void refuse() {
    slot_.bad_order = true;
    _exit(127);
  }

  void wait_for_order() {
    pollfd leash = {leash_number, POLLIN, 0};
    while (poll(&leash, 1, -1) < 0) {
    }
    slot_.taken = true;
  }

  void take_order() {
    const packet_size got = receive_packet(leash_number, packet, sizeof packet, received_);
    if (got.ended) {
      slot_.saw_end = true;
      _exit(0);
    }
    const wire::header& head = received_.head;
    if (got.bytes < sizeof head_ || head.type != wire::message::spawn || head.bytes != got.bytes) refuse();
    memcpy(&head_, packet, sizeof head_);
    const std::size_t pointer_count = pointers_needed(head_);
    if (pointer_count == 0) refuse();
    char* const text = head_.flags & wire::spawn_text_in_file ? text_in_file() : packet + sizeof head_;
    if (received_.fd_count < 3 || received_.fd_count > static_cast<int>(wire::spawn_fds_max)) refuse();
    if (text == packet + sizeof head_ && got.bytes != sizeof head_ + head_.text_bytes) refuse();
    char** pointers = few_pointers;
    if (pointer_count > sizeof few_pointers / sizeof few_pointers[0])
      pointers = static_cast<char**>(map(pointer_count * sizeof(char*), -1));
    if (!text || !pointers) give_up(wire::stage::fork, wire::reason::resources, ENOMEM);
    if (!parse_command(head_, text, pointers, command_)) refuse();
  }

  char* text_in_file() {
    if (received_.fd_count == 0) refuse();
    const int file = received_.fds[--received_.fd_count];
    struct stat info;
    if (fstat(file, &info) != 0 || info.st_size < static_cast<off_t>(head_.text_bytes)) refuse();
    return static_cast<char*>(map(head_.text_bytes, file));
  }

  // What was received lies above where it goes, in ascending order: nothing is overwritten before it has gone.
  void place_descriptors() {
    for (int i = 0; i < received_.fd_count; ++i) {
      if (received_.fds[i] <= i || (i > 0 && received_.fds[i] <= received_.fds[i - 1])) refuse();
      if (dup2(received_.fds[i], i) < 0) give_up(wire::stage::fork, wire::reason::resources, errno);
    }
  }

  // What others sent to this process while it waited was not meant for the command.
  void restore_signals() {
    sigset_t set;
    sigfillset(&set);
    const timespec now = {0, 0};
    while (sigtimedwait(&set, nullptr, &now) > 0) {
    }
    sigemptyset(&set);
    sigprocmask(SIG_SETMASK, &set, nullptr);
  }

  slot& slot_;
  const wire::setup& defaults_;
  received received_ = {};
  wire::spawn head_ = {};
  command command_;
};

}  // namespace

void run_runner(slot& mine, const wire::setup& defaults) {
  runner(mine, defaults).run();
}

}  // namespace sbx::init
