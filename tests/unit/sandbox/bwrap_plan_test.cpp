#include "daemon/sandbox/bwrap_plan.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string_view>

namespace sbx::sandbox {
namespace {

std::shared_ptr<sys::unique_fd> no_fd() {
  return std::make_shared<sys::unique_fd>();
}

root_spec root_at(std::string path) {
  root_spec root;
  root.path = std::move(path);
  root.fd = no_fd();
  return root;
}

mount_spec mount_at(std::string source, std::string target = {}) {
  mount_spec mount;
  mount.source = std::move(source);
  mount.target = std::move(target);
  mount.fd = no_fd();
  return mount;
}

bwrap_inputs small_host() {
  bwrap_inputs inputs;
  inputs.host.system = {host_entry("/usr", "/usr"), host_entry("/bin", "", "usr/bin"), host_entry("/lib64", "/lib64")};
  inputs.host.etc = {host_entry("/etc/ld.so.cache", "/etc/ld.so.cache"),
                     host_entry("/etc/localtime", "", "/usr/share/zoneinfo/UTC")};
  inputs.host.proc_frozen = {"/proc/sys"};
  inputs.host.proc_hidden = {"/proc/keys"};
  inputs.host.resolv_conf = "nameserver 192.0.2.1\n";
  inputs.host.hosts = "127.0.0.1 localhost outside\n";
  inputs.host.has_bash = true;
  inputs.host.identity.uid = 1000;
  inputs.host.identity.gid = 100;
  inputs.host.identity.user = "ada";
  inputs.host.identity.group = "users";
  inputs.host.identity.home = "/home/ada";
  inputs.init = no_fd();
  return inputs;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : word.starts_with("--") ? "\n" : " ") + word;
  return text;
}

bool says(const bwrap_plan& plan, std::string_view words) {
  return joined(plan.arguments).find(words) != std::string::npos;
}

std::size_t place_of(const bwrap_plan& plan, std::string_view words) {
  const auto place = joined(plan.arguments).find(words);
  REQUIRE_MESSAGE(place != std::string::npos, words);
  return place;
}

const std::string& text_of(const bwrap_plan& plan, int number) {
  const auto found = std::find_if(plan.descriptors.begin(), plan.descriptors.end(),
                                  [&](const auto& descriptor) { return descriptor.number == number; });
  REQUIRE(found != plan.descriptors.end());
  return std::get<std::string>(found->source);
}

TEST_CASE("bwrap_plan: the whole vector for one root") {
  spec wanted;
  wanted.roots = {root_at("/home/ada/work")};
  const auto plan = plan_bwrap(wanted, small_host());
  CHECK(joined(plan.arguments) ==
        "--unshare-user\n--unshare-pid\n--unshare-ipc\n--unshare-uts\n--unshare-cgroup-try\n--unshare-net\n"
        "--cap-drop ALL\n--die-with-parent\n--as-pid-1\n--new-session\n--clearenv\n--hostname sbx\n--info-fd 4\n"
        "--ro-bind-try /usr /usr\n--symlink usr/bin /bin\n--ro-bind-try /lib64 /lib64\n"
        "--ro-bind-try /etc/ld.so.cache /etc/ld.so.cache\n--symlink /usr/share/zoneinfo/UTC /etc/localtime\n"
        "--perms 0644\n--file 6 /etc/passwd\n--perms 0644\n--file 7 /etc/group\n--perms 0644\n--file 8 /etc/hostname\n"
        "--perms 0644\n--file 9 /etc/hosts\n"
        "--proc /proc\n--ro-bind-try /proc/sys /proc/sys\n--ro-bind-try /dev/null /proc/keys\n"
        "--dev /dev\n--perms 1777\n--size 1073741824\n--tmpfs /dev/shm\n--ro-bind-fd 10 /dev/sbx-init\n--remount-ro "
        "/dev\n"
        "--perms 1777\n--size 4294967296\n--tmpfs /tmp\n--symlink ../tmp /var/tmp\n--symlink ../run /var/run\n--dir "
        "/run\n"
        "--perms 0700\n--size 1073741824\n--tmpfs /home/ada\n"
        "--bind-fd 11 /home/ada/work\n--remount-ro /");
  CHECK(joined(plan.command) == "/dev/sbx-init");
  CHECK(plan.home == "/home/ada");
  CHECK(text_of(plan, 6) ==
        "ada:x:1000:100::/home/ada:/bin/bash\nroot:x:0:0::/root:/usr/sbin/nologin\n"
        "nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n");
  CHECK(text_of(plan, 7) == "users:x:100:\nroot:x:0:\nnogroup:x:65534:\n");
  CHECK(text_of(plan, 9) == "127.0.0.1 localhost sbx\n::1 localhost\n");
}

TEST_CASE("bwrap_plan: the walls that keep root in are there for every user") {
  for (const uid_t uid : {uid_t{0}, uid_t{1000}}) {
    auto inputs = small_host();
    inputs.host.identity.uid = uid;
    const auto plan = plan_bwrap(spec(), inputs);
    CHECK(says(plan, "--cap-drop ALL"));
    CHECK(place_of(plan, "--proc /proc") < place_of(plan, "--ro-bind-try /proc/sys /proc/sys"));
    CHECK(joined(plan.arguments).ends_with("--remount-ro /"));
  }
}

TEST_CASE("bwrap_plan: with the host's network come its resolver and hosts") {
  spec wanted;
  wanted.network.mode = network_spec::mode::host;
  const auto plan = plan_bwrap(wanted, small_host());
  CHECK_FALSE(says(plan, "--unshare-net"));
  CHECK(text_of(plan, 9) == "127.0.0.1 localhost outside\n");
  CHECK(says(plan, "--file 10 /etc/resolv.conf"));
  CHECK(text_of(plan, 10) == "nameserver 192.0.2.1\n");
}

TEST_CASE("bwrap_plan: a root beneath /tmp comes after the private /tmp") {
  spec wanted;
  wanted.roots = {root_at("/tmp/x")};
  const auto plan = plan_bwrap(wanted, small_host());
  CHECK(place_of(plan, "--tmpfs /tmp") < place_of(plan, " /tmp/x"));
}

TEST_CASE("bwrap_plan: a root that is a system directory takes its place") {
  spec wanted;
  wanted.roots = {root_at("/tmp"), root_at("/etc"), root_at("/home")};
  const auto plan = plan_bwrap(wanted, small_host());
  CHECK_FALSE(says(plan, "--tmpfs /tmp"));
  CHECK_FALSE(says(plan, " /etc/passwd"));
  CHECK(plan.home == "/var/home/sbx");
}

TEST_CASE("bwrap_plan: a root in /var/tmp makes that a directory of its own") {
  spec wanted;
  wanted.roots = {root_at("/var/tmp/x")};
  CHECK_FALSE(says(plan_bwrap(wanted, small_host()), "../tmp /var/tmp"));
}

TEST_CASE("bwrap_plan: what holds is bound before what is held") {
  spec wanted;
  wanted.mounts = {mount_at("/opt/b/c"), mount_at("/opt/b-d"), mount_at("/opt/b"), mount_at("/opt/missing")};
  wanted.mounts.back().fd = nullptr;
  wanted.mounts[2].writable = true;
  const auto plan = plan_bwrap(wanted, small_host());
  CHECK(place_of(plan, "--bind-fd 11 /opt/b\n") < place_of(plan, "--ro-bind-fd 12 /opt/b/c\n"));
  CHECK(place_of(plan, " /opt/b/c\n") < place_of(plan, "--ro-bind-fd 13 /opt/b-d\n"));
  CHECK_FALSE(says(plan, "/opt/missing"));
}

TEST_CASE("bwrap_plan: of a mount with a sha256 the checked copy is shown") {
  spec wanted;
  wanted.mounts = {mount_at("/opt/tool", "/usr/local/tool")};
  auto inputs = small_host();
  verified_mount copy;
  copy.content = no_fd();
  copy.executable = true;
  inputs.verified.emplace("/usr/local/tool", copy);
  const auto plan = plan_bwrap(wanted, inputs);
  CHECK(says(plan, "--perms 0555\n--ro-bind-data 11 /usr/local/tool"));
  CHECK_FALSE(says(plan, "-bind-fd 11"));
}

TEST_CASE("bwrap_plan: tmp_bytes bounds every private directory") {
  spec wanted;
  wanted.limits.tmp_bytes = 1'000'000;
  const auto plan = plan_bwrap(wanted, small_host());
  CHECK(says(plan, "--size 1000000\n--tmpfs /tmp"));
  CHECK(says(plan, "--size 1000000\n--tmpfs /dev/shm"));
  CHECK(says(plan, "--size 1000000\n--tmpfs /home/ada"));
}

TEST_CASE("bwrap_plan: a home that lies in a root is left alone") {
  spec wanted;
  wanted.roots = {root_at("/home/ada")};
  CHECK(choose_home(wanted, "/home/ada") == "/home/sbx");
  CHECK(choose_home(spec(), "/usr/lib/service") == "/home/sbx");
  CHECK(choose_home(spec(), "/") == "/home/sbx");
}

TEST_CASE("bwrap_plan: names that look like options stay operands") {
  spec wanted;
  wanted.roots = {root_at("/home/ada/--bind")};
  const auto plan = plan_bwrap(wanted, small_host());
  CHECK(std::count(plan.arguments.begin(), plan.arguments.end(), "--bind") == 0);
}

}  // namespace
}  // namespace sbx::sandbox
