#include "daemon/init/launch.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sbx::init {

namespace {

// Shared with the child, which runs on our memory until it execs or fails.
struct attempt {
  const command* wanted;
  const wire::setup* defaults;
  wire::spawn_failed failure;
};

[[noreturn]] void give_up(attempt& a, wire::stage stage, int error, wire::reason reason) {
  a.failure = {stage, reason, error};
  _exit(127);
}

bool is_beneath(const char* path, const char* root) {
  const std::size_t length = strlen(root);
  return strncmp(path, root, length) == 0 && (path[length] == '/' || path[length] == 0);
}

// The directory is entered first and asked for its name then: what the kernel says of it cannot be swapped any more.
void enter_directory(attempt& a) {
  if (chdir(a.wanted->cwd) != 0) give_up(a, wire::stage::cwd, errno, wire::reason::bad_cwd);
  if (a.wanted->root_count == 0) return;
  char name[8192];
  const long length = syscall(SYS_getcwd, name, sizeof name);
  if (length <= 0) give_up(a, wire::stage::cwd, errno, wire::reason::bad_cwd);
  for (std::uint32_t i = 0; i < a.wanted->root_count; ++i)
    if (is_beneath(name, a.wanted->roots[i])) return;
  give_up(a, wire::stage::cwd, EXDEV, wire::reason::cwd_outside);
}

// The received descriptors lie above 2, but may lie where others are to go: so all go up first, then down.
void place_descriptors(attempt& a) {
  constexpr int above = 64;
  int moved[wire::spawn_fds_max];
  for (int i = 0; i < a.wanted->fd_count; ++i) {
    moved[i] = fcntl(a.wanted->fds[i], F_DUPFD_CLOEXEC, above);
    if (moved[i] < 0) give_up(a, wire::stage::fork, errno, wire::reason::resources);
  }
  for (int i = 0; i < a.wanted->fd_count; ++i)
    if (dup2(moved[i], i) < 0) give_up(a, wire::stage::fork, errno, wire::reason::resources);
  close_range(static_cast<unsigned>(a.wanted->fd_count), ~0u, 0);
}

void apply_limits(const wire::setup& defaults) {
  for (std::uint32_t i = 0; i < defaults.rlimit_count; ++i) {
    const auto& entry = defaults.rlimits[i];
    rlimit wanted = {entry.soft, entry.hard};
    // Inside a user namespace a hard limit cannot be raised back; the soft one then goes as high as it may.
    if (setrlimit(static_cast<__rlimit_resource>(entry.resource), &wanted) != 0) {
      rlimit have;
      if (getrlimit(static_cast<__rlimit_resource>(entry.resource), &have) == 0) {
        have.rlim_cur = entry.soft < have.rlim_max ? entry.soft : have.rlim_max;
        setrlimit(static_cast<__rlimit_resource>(entry.resource), &have);
      }
    }
  }
  umask(defaults.umask);
}

wire::reason reason_of(int error, const char* path) {
  struct stat info;
  const bool there = stat(path, &info) == 0;
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return there && S_ISREG(info.st_mode) ? wire::reason::bad_interpreter : wire::reason::not_found;
    case ENAMETOOLONG:
      return wire::reason::not_found;
    case EACCES:
      return there && S_ISREG(info.st_mode) && access(path, X_OK) == 0 ? wire::reason::bad_interpreter
                                                                      : wire::reason::not_executable;
    case EPERM:
    case ETXTBSY:
    case EISDIR:
      return wire::reason::not_executable;
    case ELOOP:
      return there ? wire::reason::bad_interpreter : wire::reason::not_found;
    case ENOEXEC:
    case ELIBBAD:
    case EINVAL:
      return wire::reason::bad_format;
    case E2BIG:
      return wire::reason::too_big;
    case ENOMEM:
    case EAGAIN:
    case EMFILE:
    case ENFILE:
      return wire::reason::resources;
    default:
      return wire::reason::other;
  }
}

const char* value_of(char** environment, const char* name) {
  const std::size_t length = strlen(name);
  for (; *environment; ++environment)
    if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=') return *environment + length + 1;
  return nullptr;
}

[[noreturn]] void execute(attempt& a) {
  const char* program = a.wanted->argv[0];
  char** const environment = a.wanted->environment;
  if (strchr(program, '/')) {
    execve(program, a.wanted->argv, environment);
    give_up(a, wire::stage::exec, errno, reason_of(errno, program));
  }
  // As execvp: the first that can be executed; what was found but may not be is told when nothing else is there.
  const char* path = value_of(environment, "PATH");
  if (!path) path = "/usr/local/bin:/usr/bin:/bin";
  int worst = ENOENT;
  wire::reason why = wire::reason::not_found;
  const std::size_t name_length = strlen(program);
  char candidate[8192];
  for (const char* at = path;; ++at) {
    const char* end = strchrnul(at, ':');
    const std::size_t length = static_cast<std::size_t>(end - at);
    if (name_length > 0 && length + name_length + 2 <= sizeof candidate) {
      memcpy(candidate, at, length);
      if (length > 0) candidate[length] = '/';
      memcpy(candidate + length + (length > 0), program, name_length + 1);
      execve(candidate, a.wanted->argv, environment);
      const int error = errno;
      const wire::reason reason = reason_of(error, candidate);
      if (reason != wire::reason::not_found && reason != wire::reason::not_executable)
        give_up(a, wire::stage::exec, error, reason);
      if (reason == wire::reason::not_executable) {
        worst = error;
        why = reason;
      }
    }
    if (!*end) break;
    at = end;
  }
  give_up(a, wire::stage::exec, worst, why);
}

int child(void* argument) {
  attempt& a = *static_cast<attempt*>(argument);
  setsid();
  enter_directory(a);
  place_descriptors(a);
  if (a.wanted->controlling_terminal && ioctl(0, TIOCSCTTY, 0) != 0)
    give_up(a, wire::stage::pty, errno, wire::reason::other);
  apply_limits(*a.defaults);
  struct sigaction ours = {};
  ours.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &ours, nullptr);  // before the mask goes: no handler of ours may run on this borrowed memory
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execute(a);
}

constexpr std::size_t stack_bytes = 128 * 1024;

char* child_stack() {
  static char* stack = nullptr;
  if (!stack) {
    void* made = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (made != MAP_FAILED) stack = static_cast<char*>(made);
  }
  return stack;
}

const char* next_string(char*& at, char* end) {
  if (at == end) return nullptr;
  char* const text = at;
  at += strlen(at) + 1;
  return text;
}

}  // namespace

bool parse_command(const wire::spawn& head, char* text, std::size_t bytes, char** pointers, command& out) {
  if (bytes == 0 || text[bytes - 1] != 0 || head.argv_count == 0) return false;
  char* at = text;
  char* const end = text + bytes;
  out.cwd = next_string(at, end);
  out.roots = const_cast<const char**>(pointers);
  out.root_count = head.root_count;
  out.controlling_terminal = head.flags & wire::spawn_controlling_terminal;
  for (std::uint32_t i = 0; i < head.root_count; ++i)
    if (!(*pointers++ = const_cast<char*>(next_string(at, end)))) return false;
  out.argv = pointers;
  for (std::uint32_t i = 0; i < head.argv_count; ++i)
    if (!(*pointers++ = const_cast<char*>(next_string(at, end)))) return false;
  *pointers++ = nullptr;
  out.environment = pointers;
  for (std::uint32_t i = 0; i < head.env_count; ++i)
    if (!(*pointers++ = const_cast<char*>(next_string(at, end)))) return false;
  *pointers = nullptr;
  return at == end && out.cwd;
}

launched launch(const command& wanted, const wire::setup& defaults) {
  attempt a = {&wanted, &defaults, {wire::stage::fork, wire::reason::resources, ENOMEM}};
  char* const stack = child_stack();
  if (!stack) return {0, a.failure};
  // The child borrows our memory and we wait until it has exec'ed: nothing is copied, and a failure is told in place.
  a.failure.error = 0;
  const pid_t pid = clone(child, stack + stack_bytes, CLONE_VM | CLONE_VFORK | SIGCHLD, &a);
  if (pid < 0) return {0, {wire::stage::fork, wire::reason::resources, errno}};
  if (a.failure.error == 0) return {pid, {}};
  waitpid(pid, nullptr, 0);
  return {0, a.failure};
}

}  // namespace sbx::init
