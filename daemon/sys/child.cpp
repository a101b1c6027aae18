#include "daemon/sys/child.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

namespace sbx::sys {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> list;
  for (const auto& word : words) list.push_back(const_cast<char*>(word.c_str()));
  list.push_back(nullptr);
  return list;
}

// All that the child half needs, made before the fork: between fork and exec nothing may allocate.
struct child_plan {
  const char* path;
  char** argv;
  char** env;
  std::pair<int, int>* descriptors;  // source, target; ascending targets
  std::size_t descriptor_count;
  int highest;  // target
  int report;
  int death_signal;
  pid_t parent;
  const mode_t* umask;
  const std::pair<int, rlimit>* rlimits;
  std::size_t rlimit_count;
};

[[noreturn]] void give_up(int report) {
  const int number = errno;
  [[maybe_unused]] const ssize_t written = ::write(report, &number, sizeof number);
  ::_exit(127);
}

void reset_signals() {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) ::sigaction(number, &standard, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// First out of the way of all targets, then each to its place; what lies between and above is closed.
int place_descriptors(const child_plan& plan) {
  const int report = ::fcntl(plan.report, F_DUPFD_CLOEXEC, plan.highest + 1);
  if (report < 0) give_up(plan.report);
  for (std::size_t i = 0; i < plan.descriptor_count; ++i) {
    auto& [source, target] = plan.descriptors[i];
    source = ::fcntl(source, F_DUPFD_CLOEXEC, plan.highest + 1);
    if (source < 0) give_up(report);
  }
  for (std::size_t i = 0; i < plan.descriptor_count; ++i)
    if (::dup2(plan.descriptors[i].first, plan.descriptors[i].second) < 0) give_up(report);
  unsigned next = 0;
  for (std::size_t i = 0; i < plan.descriptor_count; ++i) {
    const auto target = static_cast<unsigned>(plan.descriptors[i].second);
    if (target > next) ::syscall(SYS_close_range, next, target - 1, 0);
    next = target + 1;
  }
  // Those above end with exec: each was opened CLOEXEC or is marked so now.
  ::syscall(SYS_close_range, static_cast<unsigned>(plan.highest) + 1, ~0U, 4U /* CLOSE_RANGE_CLOEXEC */);
  return report;
}

[[noreturn]] void become(const child_plan& plan) {
  ::setsid();
  reset_signals();
  if (plan.death_signal != 0) {
    ::prctl(PR_SET_PDEATHSIG, plan.death_signal);
    if (::getppid() != plan.parent) ::_exit(127);
  }
  const int report = place_descriptors(plan);
  for (std::size_t i = 0; i < plan.rlimit_count; ++i)
    ::setrlimit(static_cast<__rlimit_resource>(plan.rlimits[i].first), &plan.rlimits[i].second);
  if (plan.umask != nullptr) ::umask(*plan.umask);
  ::execve(plan.path, plan.argv, plan.env);
  give_up(report);
}

result<std::vector<std::pair<int, int>>> numbers_of(const child_setup& setup, fd_ref null) {
  std::vector<std::pair<int, int>> list;
  for (const auto& [source, target] : setup.descriptors) list.emplace_back(source.get(), target);
  for (int standard = 0; standard < 3; ++standard)
    if (std::none_of(list.begin(), list.end(), [&](const auto& entry) { return entry.second == standard; }))
      list.emplace_back(null.get(), standard);
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return list;
}

// What the child reported: 0 after exec.
int read_report(fd_ref report) {
  int number = 0;
  ssize_t length;
  do length = ::read(report.get(), &number, sizeof number);
  while (length < 0 && errno == EINTR);
  return length == sizeof number ? number : 0;
}

}  // namespace

result<child> start_child(const child_setup& setup) {
  const unique_fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  int ends[2];
  if (!null || ::pipe2(ends, O_CLOEXEC) != 0) return fail_system(errno, "starting", setup.path);
  const unique_fd from_child(ends[0]);
  unique_fd to_parent(ends[1]);
  auto numbers = numbers_of(setup, null);
  auto argv = pointers(setup.argv), env = pointers(setup.env);
  const child_plan plan{setup.path.c_str(),   argv.data(),
                        env.data(),           numbers->data(),
                        numbers->size(),      numbers->back().second,
                        to_parent.get(),      setup.death_signal,
                        ::getpid(),           setup.umask ? &*setup.umask : nullptr,
                        setup.rlimits.data(), setup.rlimits.size()};
  child started;
  // No handler of ours may run in the child before it has its own dispositions.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  started.pid = ::fork();
  const int fork_errno = errno;
  if (started.pid == 0) become(plan);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (started.pid < 0) return fail_system(fork_errno, "starting", setup.path);
  to_parent.reset();
  const int failed = read_report(from_child);
  started.pidfd = unique_fd(static_cast<int>(::syscall(SYS_pidfd_open, started.pid, 0)));
  const int pidfd_errno = errno;
  if (failed == 0 && started.pidfd) return started;
  ::kill(started.pid, SIGKILL);  // unreaped, so the number is still its own
  while (::waitpid(started.pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  return fail_system(failed != 0 ? failed : pidfd_errno, "starting", setup.path);
}

result<int> reap(fd_ref pidfd) {
  siginfo_t end{};
  int status;
  do status = ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd.get()), &end, WEXITED);
  while (status < 0 && errno == EINTR);
  if (status < 0) return fail_system(errno, "waiting for a process");
  if (end.si_code == CLD_EXITED) return (end.si_status & 0xff) << 8;
  return end.si_status & 0x7f;
}

void send_signal(fd_ref pidfd, int number) {
  if (pidfd) ::syscall(SYS_pidfd_send_signal, pidfd.get(), number, nullptr, 0);
}

std::optional<std::string> find_program(const std::string& name, const std::string& path_variable) {
  const auto runs = [](const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) return name;
  for (std::size_t begin = 0; begin <= path_variable.size();) {
    const auto end = std::min(path_variable.find(':', begin), path_variable.size());
    const auto directory = path_variable.substr(begin, end - begin);
    if (directory.starts_with('/') && runs(directory + "/" + name)) return directory + "/" + name;
    begin = end + 1;
  }
  return std::nullopt;
}

}  // namespace sbx::sys
