#include "daemon/rpc/socket_file.hpp"

#include <doctest/doctest.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/rpc/fixture.hpp"

using namespace sbx;
using namespace sbx::rpc;
using namespace sbx::rpc::test;

namespace {
mode_t mode_of(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
}
}  // namespace

TEST_CASE("socket file: directories are 0700 and the socket 0600 from birth, whatever the umask") {
  temp_directory directory;
  const std::string path = directory.path + "/a/b/s.sock";
  const mode_t before = ::umask(0);
  auto bound = socket_file::bind(path);
  ::umask(before);
  REQUIRE(bound);
  CHECK(mode_of(path) == 0600);
  CHECK(mode_of(directory.path + "/a") == 0700);
  CHECK(mode_of(directory.path + "/a/b") == 0700);
  CHECK(mode_of(path + ".lock") == 0600);
  bound->remove();
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK(std::filesystem::exists(path + ".lock"));
}

TEST_CASE("socket file: a held lock decides, even when the socket is gone") {
  temp_directory directory;
  const std::string path = directory.path + "/s.sock";
  auto first = socket_file::bind(path);
  REQUIRE(first);
  for (int i = 0; i < 2; ++i) {
    auto second = socket_file::bind(path);
    REQUIRE_FALSE(second);
    CHECK(second.error().kind == error_kind::conflict);
    CHECK(second.error().message.find("running") != std::string::npos);
    std::filesystem::remove(path);
  }
}

TEST_CASE("socket file: a stale socket is replaced, one that listens is not, and no other file ever is") {
  temp_directory directory;
  const std::string path = directory.path + "/s.sock";
  { auto left_behind = socket_file::bind(path); }
  REQUIRE(std::filesystem::exists(path));
  {
    auto again = socket_file::bind(path);
    CHECK(again);
    std::filesystem::remove(path + ".lock");  // somebody meddles
    auto third = socket_file::bind(path);
    REQUIRE_FALSE(third);
    CHECK(third.error().kind == error_kind::conflict);
    again->remove();
  }
  std::ofstream(path) << "precious";
  auto over_a_file = socket_file::bind(path);
  REQUIRE_FALSE(over_a_file);
  CHECK(over_a_file.error().kind == error_kind::conflict);
  CHECK(std::filesystem::file_size(path) == 8);
}

TEST_CASE("socket file: only the socket that was made is removed") {
  temp_directory directory;
  const std::string path = directory.path + "/s.sock";
  auto bound = socket_file::bind(path);
  REQUIRE(bound);
  std::filesystem::remove(path);
  std::ofstream(path) << "another's";
  bound->remove();
  CHECK(std::filesystem::exists(path));
}

TEST_CASE("socket file: a path over 107 bytes is refused as too long") {
  temp_directory directory;
  auto fits = socket_file::bind(directory.path + "/" + std::string(106 - directory.path.size(), 's'));
  CHECK(fits);
  auto bound = socket_file::bind(directory.path + "/" + std::string(107 - directory.path.size(), 's'));
  REQUIRE_FALSE(bound);
  CHECK(bound.error().message.find("too long") != std::string::npos);
}

TEST_CASE("socket file: where it lies by default") {
  temp_directory directory;
  CHECK(*default_socket_path(directory.path.c_str(), ::geteuid()) == directory.path + "/sbxd/sbxd.sock");
  CHECK_FALSE(default_socket_path(directory.path.c_str(), 987654));
  CHECK_FALSE(default_socket_path((directory.path + "/missing").c_str(), ::geteuid()));
  CHECK_FALSE(default_socket_path(nullptr, 987654));
  CHECK_FALSE(default_socket_path("relative", 987654));
  if (!std::filesystem::exists("/run/user/0")) CHECK(*default_socket_path("", 0) == "/run/sbxd/sbxd.sock");
}

TEST_CASE("socket file: a socket handed over is locked, and not removed") {
  temp_directory directory;
  const std::string path = directory.path + "/s.sock";
  sys::unique_fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  REQUIRE(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  REQUIRE(::listen(listener.get(), 5) == 0);
  auto adopted = socket_file::adopt(std::move(listener));
  REQUIRE(adopted);
  CHECK(adopted->path() == path);
  CHECK_FALSE(socket_file::bind(path));
  adopted->remove();
  CHECK(std::filesystem::exists(path));
}
