#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <sys/prctl.h>

#include <csignal>
#include <cstring>

#include "tests/support/harness/row.hpp"

namespace sbx::test {
namespace {

// Remembers whether an assertion failed, so that the daemon's log can be shown then.
struct failure_listener : doctest::IReporter {
  explicit failure_listener(const doctest::ContextOptions&) {}
  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_start(const doctest::TestCaseData&) override { forget_failures(); }
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_end(const doctest::CurrentTestCaseStats&) override {}
  void test_case_exception(const doctest::TestCaseException&) override { note_failure(true); }
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData& data) override { note_failure(data.m_failed); }
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}
};
REGISTER_LISTENER("failure", 1, failure_listener);

}  // namespace

}  // namespace sbx::test

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  if (!context.shouldExit() && argc > 1 && !std::strstr(argv[1], "--list")) {
    if (!sbx::test::as_ordinary_user() && !sbx::test::running_as_root()) {
      sbx::test::skip("root", "these tests run as an ordinary user");
    }
  }
  std::signal(SIGPIPE, SIG_IGN);
  // Whatever a daemon leaves behind falls to this process, where it is noticed.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  return context.run();
}
