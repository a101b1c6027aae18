#include "daemon/workspace/handle_id.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

using namespace sbx;

TEST_CASE("handles: a prefix and 32 lower-case hexadecimal digits, never the same twice") {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string id = workspace::make_handle("job-");
    REQUIRE(id.size() == 36);
    CHECK(id.substr(0, 4) == "job-");
    CHECK(id.find_first_not_of("0123456789abcdef", 4) == std::string::npos);
    CHECK(seen.insert(id).second);
  }
}

TEST_CASE("handles: every wrong one gets the same answer") {
  const error one = workspace::no_such_handle("job-1"), other = workspace::no_such_handle("ws-2");
  CHECK(one.kind == error_kind::no_such_handle);
  CHECK(one.message == other.message);
  CHECK(one.details.size() == other.details.size());
}
