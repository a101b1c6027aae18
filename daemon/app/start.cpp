#include "daemon/app/start.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace sbx::app {

namespace {

// A closed descriptor 0, 1 or 2 would be taken by the next thing opened, and written to as if it were the log.
result<void> open_standard_descriptors() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    const int opened = ::open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY);  // stays open over exec on purpose
    if (opened < 0) return fail_system(errno, "opening", "/dev/null");
  }
  return {};
}

void reset_signals() {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  for (const int number : {SIGCHLD, SIGALRM, SIGUSR1, SIGUSR2}) std::signal(number, SIG_DFL);
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

result<sandbox::process_defaults> prepare_process() {
  if (auto done = open_standard_descriptors(); !done) return tl::unexpected(done.error());
  const auto defaults = sandbox::note_process_defaults();
  reset_signals();
  ::umask(077);
  if (::chdir("/") != 0) return fail_system(errno, "changing to", "/");
  // Nobody of the same user attaches to the daemon or reads its memory and descriptors through /proc.
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  raise_descriptor_limit();
  return defaults;
}

}  // namespace sbx::app
