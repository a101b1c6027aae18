#include "daemon/sys/cgroup.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

namespace sbx::sys {
namespace {

TEST_CASE("cgroup: version 1, where each controller has a tree of its own") {
  const auto found = find_cgroups("8:pids:/d/x\n6:freezer:/d/x\n4:memory:/d/x\n0::/d/x\n",
                                  "30 25 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                                  "31 25 0:27 / /sys/fs/cgroup/freezer rw shared:5 - cgroup cgroup rw,freezer\n"
                                  "32 25 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  CHECK(found.memory == "/sys/fs/cgroup/memory/d/x");
  CHECK(found.freezer == "/sys/fs/cgroup/freezer/d/x");
  CHECK_FALSE(found.memory_unified);
}

TEST_CASE("cgroup: version 2, and a mount of a part of the tree") {
  const auto found =
      find_cgroups("0::/user.slice/x.scope\n", "30 25 0:26 /user.slice /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  CHECK(found.memory == "/sys/fs/cgroup/x.scope");
  CHECK(found.freezer_unified);
}

TEST_CASE("cgroup: nothing is known of nothing") {
  CHECK(find_cgroups("", "").memory.empty());
  CHECK_FALSE(cgroup().oom_kills());
  CHECK_FALSE(cgroup().frozen());
  CHECK_FALSE(cgroup::of(::getpid()).frozen());
}

}  // namespace
}  // namespace sbx::sys
