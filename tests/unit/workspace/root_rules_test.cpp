#include "daemon/workspace/root_rules.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace sbx;

namespace {

struct place {
  place() {
    char name[] = "/tmp/sbx-rules-XXXXXX";
    path = ::mkdtemp(name);
  }
  ~place() { std::filesystem::remove_all(path); }
  std::string path;
};

workspace::daemon_paths own_of(const std::string& base) {
  workspace::daemon_paths out;
  out.own = {base + "/state/sbxd", base + "/run/sbxd/sbxd.sock"};
  out.state = base + "/state/sbxd";
  out.copies = base + "/state/sbxd/copies";
  return out;
}

error_kind kind_of(const result<void>& judged) {
  REQUIRE(!judged);
  return judged.error().kind;
}

}  // namespace

TEST_CASE("root rules: the root of the file system and the kernel's own are refused") {
  const workspace::root_rules rules({}, std::nullopt);
  for (const char* path : {"/", "/proc", "/proc/1", "/sys", "/sys/fs/cgroup", "/dev", "/dev/shm/x"})
    CHECK(kind_of(rules.check(path)) == error_kind::denied);
  CHECK(rules.check("/process").has_value());
  CHECK(rules.check("/home/user/project").has_value());
}

TEST_CASE(
    "root rules: what is, contains or lies in something of the daemon's is refused, but for the entries of copies") {
  const workspace::root_rules rules(own_of("/d"), std::nullopt);
  for (const char* path : {"/d", "/d/state", "/d/state/sbxd", "/d/state/sbxd/x", "/d/state/sbxd/copies", "/d/run",
                           "/d/run/sbxd/sbxd.sock"})
    CHECK(kind_of(rules.check(path)) == error_kind::denied);
  CHECK(rules.check("/d/state/sbxd/copies/0123").has_value());
  CHECK(rules.check("/d/state/sbxd-other").has_value());
}

TEST_CASE("root rules: allowed_roots covers what is beneath, and nothing with the same beginning") {
  const std::vector<std::string> allowed{"/home/user/work"};
  const workspace::root_rules rules(own_of("/d"), allowed);
  CHECK(rules.check("/home/user/work").has_value());
  CHECK(rules.check("/home/user/work/a").has_value());
  CHECK(kind_of(rules.check("/home/user/workshop")) == error_kind::denied);
  CHECK(kind_of(rules.check("/home/user")) == error_kind::denied);
  CHECK(rules.check("/d/state/sbxd/copies/0123").has_value());
}

TEST_CASE("root rules: a link is judged by where it leads, and a missing path does not tell of what lies outside") {
  const place here;
  std::filesystem::create_directories(here.path + "/in");
  std::filesystem::create_directory_symlink("/proc", here.path + "/link");
  const std::vector<std::string> allowed{here.path};
  const workspace::root_rules rules({}, allowed);
  CHECK(*rules.resolve(here.path + "/in/../in") == here.path + "/in");
  CHECK(rules.resolve(here.path + "/link").error().kind == error_kind::denied);
  CHECK(rules.resolve(here.path + "/missing").error().kind == error_kind::not_found);
  CHECK(rules.resolve("/usr/no-such-directory").error().kind == error_kind::denied);
  CHECK(rules.resolve("/usr").error().kind == error_kind::denied);
}
