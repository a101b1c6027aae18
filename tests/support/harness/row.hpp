// Which row of the table (backend × user) this run of the test program is for, and leaving a test that cannot run here.
#pragma once

#include <string>

namespace sbx::test {

std::string backend();    // SBX_TEST_BACKEND, default bwrap
bool isolated();          // the backend has walls
bool as_ordinary_user();  // the daemon is to run without privileges
bool running_as_root();   // this test program itself

// Ends the program: ctest counts the case as skipped, and the reason is printed by ./dev test. When SBX_REQUIRE names
// `feature` it fails instead.
[[noreturn]] void skip(const std::string& feature, const std::string& reason);

void note_failure(bool happened);
void forget_failures();
bool test_failed();  // some assertion of the current test case has failed

}  // namespace sbx::test
