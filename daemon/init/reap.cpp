#include "daemon/init/reap.hpp"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sbx::init {

namespace {

int status_of(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return (info.si_status & 0xff) << 8;
  return (info.si_status & 0x7f) | (info.si_code == CLD_DUMPED ? 0x80 : 0);
}

std::int64_t microseconds(const timeval& time) {
  return time.tv_sec * 1'000'000LL + time.tv_usec;
}

}  // namespace

ended_child look_at_end(idtype_t which, pid_t pid) {
  siginfo_t info = {};
  rusage usage = {};
  // The system call answers what glibc's waitid(3) leaves out: the usage.
  if (syscall(SYS_waitid, which, pid, &info, WEXITED | WNOHANG | WNOWAIT, &usage) != 0) return {-1, 0, {}};
  if (info.si_pid == 0) return {0, 0, {}};
  const int status = status_of(info);
  return {
      info.si_pid, status, {status, 0, microseconds(usage.ru_utime), microseconds(usage.ru_stime), usage.ru_maxrss}};
}

}  // namespace sbx::init
