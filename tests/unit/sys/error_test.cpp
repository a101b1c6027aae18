#include "daemon/sys/error.hpp"

#include <doctest/doctest.h>

#include <cerrno>

TEST_CASE("error: a failed system call carries its errno by name, and what was done to what") {
  const sbx::error e = sbx::error::system(EACCES, "opening", "/x,y");
  CHECK(e.kind == sbx::error_kind::io);
  CHECK(e.number == EACCES);
  CHECK(e.message == "opening /x,y: Permission denied");
  REQUIRE(e.details.size() == 2);
  CHECK(std::get<std::string>(e.details[0].second) == "EACCES");
  CHECK(std::get<std::string>(e.details[1].second) == "/x,y");
}

TEST_CASE("error: ENOENT is not_found") {
  CHECK(sbx::error::system(ENOENT, "opening").kind == sbx::error_kind::not_found);
}
