#include "daemon/sandbox/verified_file.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <fstream>

#include "tests/unit/sandbox/temporary_directory.hpp"

namespace sbx::sandbox {
namespace {

constexpr const char* abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST_CASE("verified_file: a later write into the file does not reach the copy") {
  const temporary_directory here;
  const auto path = here.path() / "file";
  std::ofstream(path) << "abc";
  const sys::unique_fd object(::open(path.c_str(), O_PATH | O_CLOEXEC));
  auto copy = copy_verified(object, path, abc);
  REQUIRE(copy);
  std::ofstream(path) << "evil";
  char bytes[8] = {};
  CHECK(::read(copy->content.get(), bytes, sizeof bytes) == 3);
  CHECK(std::string(bytes) == "abc");
  CHECK(::write(copy->content.get(), "x", 1) == -1);
  CHECK_FALSE(copy->executable);
}

TEST_CASE("verified_file: it is the object that counts, not what stands at its path now") {
  const temporary_directory here;
  const auto path = here.path() / "file";
  std::ofstream(path) << "abc";
  const sys::unique_fd object(::open(path.c_str(), O_PATH | O_CLOEXEC));
  std::ofstream(here.path() / "other") << "evil";
  std::filesystem::rename(here.path() / "other", path);
  CHECK(copy_verified(object, path, abc));
}

TEST_CASE("verified_file: another content is refused, with the digest found") {
  const temporary_directory here;
  const auto path = here.path() / "file";
  std::ofstream(path) << "abd";
  const sys::unique_fd object(::open(path.c_str(), O_PATH | O_CLOEXEC));
  const auto copy = copy_verified(object, path, abc);
  REQUIRE_FALSE(copy);
  CHECK(copy.error().kind == error_kind::sandbox_unavailable);
}

TEST_CASE("verified_file: only regular files") {
  const sys::unique_fd object(::open("/dev/null", O_PATH | O_CLOEXEC));
  const auto copy = copy_verified(object, "/dev/null", abc);
  REQUIRE_FALSE(copy);
  CHECK(copy.error().kind == error_kind::not_a_file);
}

}  // namespace
}  // namespace sbx::sandbox
