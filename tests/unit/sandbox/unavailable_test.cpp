#include "daemon/sandbox/unavailable.hpp"

#include <doctest/doctest.h>

#include <cerrno>

namespace sbx::sandbox {
namespace {

std::string text_of(const error& problem, std::string_view name) {
  for (const auto& [key, value] : problem.details)
    if (key == name) return std::get<std::string>(value);
  return "";
}

bool flag_of(const error& problem, std::string_view name) {
  for (const auto& [key, value] : problem.details)
    if (key == name) return std::get<bool>(value);
  return false;
}

TEST_CASE("unavailable: the messages of Ubuntu 24.04's AppArmor name the way out") {
  for (const char* said : {"bwrap: setting up uid map: Permission denied\n",
                           "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted\n"}) {
    const auto problem = explain_bwrap(said);
    CHECK(problem.kind == error_kind::sandbox_unavailable);
    CHECK(text_of(problem, "backend") == "bwrap");
    CHECK(text_of(problem, "cause") + "\n" == said);
    CHECK(text_of(problem, "remedy").find("AppArmor") != std::string::npos);
    CHECK_FALSE(flag_of(problem, "retryable"));
  }
}

TEST_CASE("unavailable: other messages of bwrap have a remedy of their own") {
  CHECK(text_of(explain_bwrap("bwrap: Unknown option --ro-bind-fd\n"), "remedy").find("too old") != std::string::npos);
  CHECK(text_of(explain_bwrap("bwrap: No permissions to create new namespace, likely because the kernel does not allow "
                              "non-privileged user namespaces."),
                "remedy")
            .find("unprivileged_userns_clone") != std::string::npos);
  CHECK(flag_of(explain_bwrap("bwrap: Can't mount tmpfs on /newroot/tmp: Cannot allocate memory"), "retryable"));
  CHECK(text_of(explain_bwrap_missing("bwrap", ENOENT), "remedy").find("install bubblewrap") != std::string::npos);
}

TEST_CASE("unavailable: silence and noise are quoted as far as they can be") {
  CHECK(text_of(explain_bwrap(""), "cause") == "bwrap ended without saying why");
  CHECK(tidy("\n a\x1b[31mb\tc \n\n") == "a [31mb c");
  CHECK(tidy(std::string(10'000, 'x')).size() == 4096);
}

}  // namespace
}  // namespace sbx::sandbox
