#include "daemon/api/convert.hpp"

#include <doctest/doctest.h>

using namespace sbx;

TEST_CASE("convert: times are RFC 3339 in UTC, before 1970 too") {
  CHECK(api::time_text_ns(0) == "1970-01-01T00:00:00.000Z");
  CHECK(api::time_text_ns(1'700'000'000'123'456'789) == "2023-11-14T22:13:20.123Z");
  CHECK(api::time_text_ns(-1'000'000) == "1969-12-31T23:59:59.999Z");
}

TEST_CASE("convert: after lost nothing is told of how the leader ended") {
  process::exit_status lost;
  lost.outcome = process::outcome::lost;
  const auto told = api::to_wire(lost);
  CHECK(told.outcome == proto::outcome::lost);
  CHECK(!told.code);
  CHECK(!told.signal);
  CHECK(!told.usage);
}

TEST_CASE("convert: signals go by name") {
  CHECK(*api::to_signal("SIGKILL") == 9);
  const auto wrong = api::to_signal("KILL");
  REQUIRE(!wrong);
  CHECK(wrong.error().kind == error_kind::invalid_params);
}
