// sbx-bench [--ci] [--latency]: prints each measure beside its target. With --ci a target missed by far is a failure.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/bench/commands.hpp"
#include "tests/bench/files.hpp"
#include "tests/bench/jobs.hpp"

namespace {

bool has(int argc, char** argv, const char* flag) {
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], flag) == 0) return true;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  doctest::Context context;
  context.setAsDefaultForAssertsOutOfTestCases();
  context.setAssertHandler([](const doctest::AssertData& data) {
    if (!data.m_failed) return;
    std::fprintf(stderr, "%s:%d: %s: %s\n", data.m_file, data.m_line, data.m_expr, data.m_decomp.c_str());
    std::_Exit(1);
  });
  std::signal(SIGPIPE, SIG_IGN);

  sbx::bench::report table;
  if (has(argc, argv, "--latency")) {
    sbx::bench::measure_latency(table);
    return 0;
  }
  sbx::bench::measure_commands(table);
  sbx::bench::measure_jobs(table);
  sbx::bench::measure_files(table);
  return has(argc, argv, "--ci") && !table.within(2.5) ? 1 : 0;
}
