#include "daemon/sandbox/host_facts.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/unit/sandbox/temporary_directory.hpp"

namespace sbx::sandbox {
namespace {

namespace filesystem = std::filesystem;

void write(const filesystem::path& path, const std::string& content = "x") {
  filesystem::create_directories(path.parent_path());
  std::ofstream(path) << content;
}

const host_entry* find(const std::vector<host_entry>& entries, const std::string& path) {
  const auto found =
      std::find_if(entries.begin(), entries.end(), [&](const auto& entry) { return entry.path == path; });
  return found == entries.end() ? nullptr : &*found;
}

TEST_CASE("host_facts: a merged /usr is shown by links, a split one by directories") {
  const temporary_directory base;
  write(base.path() / "usr/bin/bash");
  filesystem::create_directory(base.path() / "bin");
  filesystem::create_directory_symlink("usr/lib", base.path() / "lib");
  const auto facts = read_host_facts(base.path());
  REQUIRE(find(facts.system, "/bin"));
  CHECK(find(facts.system, "/bin")->source == base.path().string() + "/bin");
  REQUIRE(find(facts.system, "/lib"));
  CHECK(find(facts.system, "/lib")->link == "usr/lib");
  CHECK_FALSE(find(facts.system, "/lib64"));
  CHECK(facts.has_bash);
}

TEST_CASE("host_facts: of /etc what programs need, and no private keys") {
  const temporary_directory base;
  write(base.path() / "etc/ssl/certs/ca.pem");
  write(base.path() / "etc/ssl/private/key.pem");
  write(base.path() / "etc/shadow");
  write(base.path() / "etc/python3.11/sitecustomize.py");
  write(base.path() / "run/real.conf", "nameserver 192.0.2.7\n");
  write(base.path() / "etc/real-nsswitch");
  filesystem::create_symlink("../run/real.conf", base.path() / "etc/resolv.conf");
  filesystem::create_symlink("/usr/share/zoneinfo/UTC", base.path() / "etc/localtime");
  filesystem::create_symlink("real-nsswitch", base.path() / "etc/nsswitch.conf");
  filesystem::create_symlink("nowhere", base.path() / "etc/protocols");
  const auto facts = read_host_facts(base.path());
  CHECK(find(facts.etc, "/etc/ssl/certs"));
  CHECK(find(facts.etc, "/etc/python3.11"));
  for (const char* absent : {"/etc/ssl", "/etc/ssl/private", "/etc/shadow", "/etc/protocols"})
    CHECK_FALSE(find(facts.etc, absent));
  CHECK(find(facts.etc, "/etc/localtime")->link == "/usr/share/zoneinfo/UTC");
  CHECK(find(facts.etc, "/etc/nsswitch.conf")->source == base.path().string() + "/etc/real-nsswitch");
  CHECK(facts.resolv_conf == "nameserver 192.0.2.7\n");
}

TEST_CASE("host_facts: a FIFO in place of resolv.conf holds nobody up") {
  const temporary_directory base;
  filesystem::create_directory(base.path() / "etc");
  REQUIRE(::mkfifo((base.path() / "etc/resolv.conf").c_str(), 0600) == 0);
  CHECK(read_host_facts(base.path()).resolv_conf.empty());
}

TEST_CASE("host_facts: this user has a name and an absolute home") {
  const auto who = read_host_identity();
  CHECK_FALSE(who.user.empty());
  CHECK(who.home.starts_with('/'));
}

}  // namespace
}  // namespace sbx::sandbox
