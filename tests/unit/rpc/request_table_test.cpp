#include "daemon/rpc/request_table.hpp"

#include <doctest/doctest.h>

using namespace sbx::rpc;
using sbx::proto::request_id;

namespace {
std::optional<request_id> id(std::int64_t number) {
  return request_id(number);
}
request_limits small() {
  request_limits limits;
  limits.running = 2;
  limits.waiting = 2;
  return limits;
}
}  // namespace

TEST_CASE("request table: an id in flight is refused, and free again afterwards") {
  request_table table;
  const auto first = table.admit(id(1), ordering::concurrent);
  REQUIRE(first);
  CHECK_FALSE(table.admit(id(1), ordering::concurrent));
  CHECK(table.admit(request_id(std::string("1")), ordering::concurrent));
  table.finish(*first);
  CHECK(table.admit(id(1), ordering::concurrent));
}

TEST_CASE("request table: notifications never collide") {
  request_table table;
  CHECK(table.admit(std::nullopt, ordering::concurrent));
  CHECK(table.admit(std::nullopt, ordering::concurrent));
}

TEST_CASE("request table: at most so many run, further ones wait, then it is full") {
  request_table table(small());
  for (int i = 0; i < 2; ++i) REQUIRE(table.admit(id(i), ordering::concurrent));
  const auto first = table.start_next();
  REQUIRE(first);
  CHECK(table.start_next());
  for (int i = 2; i < 4; ++i) REQUIRE(table.admit(id(i), ordering::concurrent));
  CHECK_FALSE(table.start_next());
  CHECK(table.full());
  table.finish(*first);
  const auto third = table.start_next();
  REQUIRE(third);
  CHECK(*third == *table.find(request_id(std::int64_t{2})));
  CHECK_FALSE(table.full());
}

TEST_CASE("request table: nothing starts while a barrier runs") {
  request_table table;
  table.admit(id(1), ordering::concurrent);
  table.admit(id(2), ordering::barrier);
  table.admit(id(3), ordering::concurrent);
  const auto first = table.start_next();
  const auto second = table.start_next();
  REQUIRE(first);
  REQUIRE(second);
  CHECK_FALSE(table.start_next());
  table.finish(*first);
  CHECK_FALSE(table.start_next());
  table.finish(*second);
  CHECK(table.start_next());
}

TEST_CASE("request table: a call that waits can be taken out") {
  request_table table(small());
  table.admit(id(1), ordering::barrier);
  const auto running = table.start_next();
  const auto waiting = table.admit(id(2), ordering::concurrent);
  const auto last = table.admit(id(3), ordering::concurrent);
  CHECK_FALSE(table.is_running(*waiting));
  table.finish(*waiting);
  table.finish(*running);
  CHECK(table.start_next() == last);
  CHECK(table.is_running(*last));
  table.finish(*last);
  CHECK(table.empty());
}
