#include "daemon/sandbox/mount_rules.hpp"

#include <doctest/doctest.h>

namespace sbx::sandbox {
namespace {

spec with_mount(std::string target) {
  spec wanted;
  root_spec root;
  root.path = "/home/ada/work";
  wanted.roots.push_back(root);
  mount_spec mount;
  mount.source = "/opt/data";
  mount.target = std::move(target);
  wanted.mounts.push_back(mount);
  return wanted;
}

TEST_CASE("mount_rules: targets that are allowed") {
  for (const char* target : {"", "/opt/data", "/usr/share/data", "/home/ada/workshop", "/tmp/x", "/devel"})
    CHECK_MESSAGE(check_mounts(with_mount(target)), target);
}

TEST_CASE("mount_rules: targets that are refused") {
  for (const char* target : {"/", "relative", "/a/../b", "/a//b", "/a/", "/proc", "/proc/x", "/dev/shm", "/sys/fs",
                             "/home/ada/work", "/home/ada/work/x", "/home/ada", "/home"}) {
    const auto checked = check_mounts(with_mount(target));
    REQUIRE_MESSAGE(!checked, target);
    CHECK(checked.error().kind == error_kind::invalid_params);
  }
}

TEST_CASE("mount_rules: one target twice, and a sha256 that would not hold") {
  auto twice = with_mount("/opt/x");
  twice.mounts.push_back(twice.mounts.front());
  CHECK_FALSE(check_mounts(twice));
  auto writable = with_mount("/opt/x");
  writable.mounts.front().writable = true;
  writable.mounts.front().sha256 = std::string(64, '0');
  CHECK_FALSE(check_mounts(writable));
}

}  // namespace
}  // namespace sbx::sandbox
