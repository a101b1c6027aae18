#include "tests/support/harness/row.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace sbx::test {
namespace {

bool failed = false;

std::string environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value && *value ? value : otherwise;
}

}  // namespace

std::string backend() {
  return environment("SBX_TEST_BACKEND", "bwrap");
}
bool isolated() {
  return backend() != "none";
}
bool running_as_root() {
  return ::geteuid() == 0;
}
bool as_ordinary_user() {
  return environment("SBX_TEST_USER", running_as_root() ? "root" : "user") == "user";
}
void note_failure(bool happened) {
  failed = failed || happened;
}
void forget_failures() {
  failed = false;
}
bool test_failed() {
  return failed;
}

void skip(const std::string& feature, const std::string& reason) {
  const std::string required = "," + environment("SBX_REQUIRE", "") + ",";
  if (required.find("," + feature + ",") != std::string::npos) {
    std::fprintf(stderr, "%s is required but missing: %s\n", feature.c_str(), reason.c_str());
    std::_Exit(1);
  }
  std::printf("SKIPPED: %s: %s\n", feature.c_str(), reason.c_str());
  std::fflush(stdout);
  std::_Exit(77);
}

}  // namespace sbx::test
