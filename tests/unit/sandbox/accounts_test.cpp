#include "daemon/sandbox/accounts.hpp"

#include <doctest/doctest.h>

namespace sbx::sandbox {
namespace {

constexpr std::string_view debian =
    "root:x:0:0:root:/root:/bin/bash\nnode:x:1000:1000::/home/node:/bin/bash\nbad line\n";

account ada() {
  account who;
  who.name = "ada";
  who.home = "/home/ada";
  who.uid = 1000;
  who.gid = 100;
  return who;
}

TEST_CASE("accounts: one line in front, and nobody else with its name or number") {
  CHECK(merge_passwd(debian, ada()) == "ada:x:1000:100::/home/ada:/bin/sh\nroot:x:0:0:root:/root:/bin/bash\n");
  CHECK(merge_passwd("", ada()) == "ada:x:1000:100::/home/ada:/bin/sh\n");
  CHECK(merge_passwd("ada:x:7:7::/:/x", ada()) == "ada:x:1000:100::/home/ada:/bin/sh\n");
  CHECK(merge_group("root:x:0:\nusers:x:100:node\n", "people", 100) == "people:x:100:\nroot:x:0:\n");
}

TEST_CASE("accounts: whom an image's USER means") {
  CHECK(find_account(debian, "").home == "/root");
  CHECK(find_account(debian, "node:node").uid == 1000);
  CHECK(find_account(debian, "1000").name == "node");
  CHECK(find_account(debian, "4242:0").home == "/");
  CHECK(find_account(debian, "4242").uid == 4242);
  CHECK(find_account("", "nobody").name == "nobody");
}

}  // namespace
}  // namespace sbx::sandbox
