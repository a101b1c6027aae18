#include "daemon/rpc/fd_claims.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>

using namespace sbx::rpc;

namespace {
fd_bundle bundle_of(std::size_t count) {
  fd_bundle made;
  for (std::size_t i = 0; i < count; ++i) made.fds.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return made;
}
bool is_open(int number) {
  return ::fcntl(number, F_GETFD) >= 0;
}
}  // namespace

TEST_CASE("fd claims: they belong to the last frame that begins in the bytes they came with") {
  fd_claims claims;
  claims.add(0, 30, bundle_of(2));
  CHECK(claims.claim(0, 10).empty());
  CHECK(claims.claim(10, 20).empty());
  CHECK(claims.claim(20, 30).fds.size() == 2);
  CHECK(claims.empty());
}

TEST_CASE("fd claims: a frame that ends later still gets them") {
  fd_claims claims;
  claims.add(0, 30, bundle_of(1));
  CHECK(claims.claim(0, 10).empty());
  claims.settle(10);
  claims.add(30, 60, bundle_of(1));  // in the middle of the same frame
  claims.settle(10);
  CHECK(claims.claim(10, 60).fds.size() == 1);
  claims.settle(60);
  CHECK(claims.empty());
}

TEST_CASE("fd claims: what no frame can claim is closed") {
  fd_claims claims;
  auto bundle = bundle_of(1);
  const int number = bundle.fds[0].get();
  claims.add(10, 20, std::move(bundle));
  claims.settle(5);  // the frame being collected began earlier
  CHECK(claims.empty());
  CHECK_FALSE(is_open(number));
}

TEST_CASE("fd claims: more than a frame may carry are all closed, and it is told") {
  fd_claims claims;
  auto bundle = bundle_of(frame_fds_max + 1);
  const int number = bundle.fds[0].get();
  claims.add(0, 10, std::move(bundle));
  CHECK_FALSE(is_open(number));
  const auto claimed = claims.claim(0, 10);
  CHECK(claimed.too_many);
  CHECK(claimed.fds.empty());
}
