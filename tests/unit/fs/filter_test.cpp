// The whole suite again, where openat2(2) is missing, filtered or switched off.
#include <linux/seccomp.h>
#include <seccomp.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdlib>

#include "tests/unit/fs/support.hpp"

namespace {

constexpr const char* inner = "SBX_TEST_INNER";

void forbid_openat2(int number) {
  scmp_filter_ctx filter = ::seccomp_init(SCMP_ACT_ALLOW);
  if (!filter) ::_exit(90);
  ::seccomp_rule_add(filter, SCMP_ACT_ERRNO(static_cast<std::uint16_t>(number)), SCMP_SYS(openat2), 0);
  if (::seccomp_load(filter) != 0) ::_exit(91);
}

// Exit status of the suite in a child; number 0: no filter, but the switch.
int run_suite_without_openat2(int number) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv(inner, "1", 1);
    if (number == 0) ::setenv("SBX_FEATURES_OFF", "other,openat2", 1);
    if (number != 0) forbid_openat2(number);
    ::execl("/proc/self/exe", "unit_fs", "--no-version", "--minimal", nullptr);
    ::_exit(92);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

TEST_CASE("confinement: the same verdicts where openat2 does not exist (slow)") {
  if (std::getenv(inner)) return;
  CHECK(run_suite_without_openat2(ENOSYS) == 0);
}

TEST_CASE("confinement: the same verdicts where a filter forbids openat2 (slow)") {
  if (std::getenv(inner)) return;
  CHECK(run_suite_without_openat2(EPERM) == 0);
}

TEST_CASE("confinement: the same verdicts where openat2 is switched off (slow)") {
  if (std::getenv(inner)) return;
  CHECK(run_suite_without_openat2(0) == 0);
}
