#include "daemon/sandbox/container_plan.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace sbx::sandbox {
namespace {

spec docker_spec() {
  spec wanted;
  wanted.workspace = "ws-1";
  wanted.backend = backend_kind::docker;
  wanted.image = "debian:12";
  root_spec root;
  root.path = "/home/ada/a,b:c";
  wanted.roots.push_back(root);
  return wanted;
}

container_inputs usual() {
  container_inputs inputs;
  inputs.name = "sbx-7";
  inputs.daemon_label = "1000:/run/user/1000/sbxd/sbxd.sock";
  inputs.init_path = "/usr/libexec/sbx/sbx-init";
  inputs.link_directory = "/run/user/1000/sbxd/link-7";
  inputs.init_arguments = {"--link", "/.sbx-7"};
  inputs.uid = 1000;
  inputs.gid = 100;
  inputs.home = "/home/ada";
  inputs.passwd_path = "/s/passwd";
  inputs.group_path = "/s/group";
  return inputs;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : word.starts_with("--") ? "\n" : " ") + word;
  return text;
}

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

TEST_CASE("container_plan: the whole command line for docker") {
  CHECK(joined(plan_container(docker_spec(), usual())) ==
        "run\n--detach\n--rm\n--init=false\n--pull=never\n--no-healthcheck\n--log-driver=none\n--name=sbx-7\n"
        "--label=sbx.daemon=1000:/run/user/1000/sbxd/sbxd.sock\n--label=sbx.workspace=ws-1\n--workdir=/\n"
        "--stop-signal=SIGKILL\n--network=none\n--hostname=sbx\n--user=1000:100\n--shm-size=1073741824\n"
        "--mount type=bind,source=/usr/libexec/sbx/sbx-init,target=/.sbx-7-init,readonly\n"
        "--mount type=bind,source=/run/user/1000/sbxd/link-7,target=/.sbx-7,readonly\n"
        "--mount type=bind,source=/s/passwd,target=/etc/passwd,readonly\n"
        "--mount type=bind,source=/s/group,target=/etc/group,readonly\n"
        "--tmpfs=/home/ada:exec,mode=0700,uid=1000,gid=100,size=1073741824\n"
        "--mount type=bind,\"source=/home/ada/a,b:c\",\"target=/home/ada/a,b:c\"\n"
        "--entrypoint=/.sbx-7-init\n-- debian:12\n--link /.sbx-7");
}

TEST_CASE("container_plan: whose files, engine by engine") {
  auto wanted = docker_spec();
  CHECK(container_user(wanted, true, 1000, 100) == "0:0");
  wanted.backend = backend_kind::podman;
  CHECK(container_user(wanted, true, 1000, 100) == "1000:100");
  auto inputs = usual();
  inputs.rootless = true;
  const auto words = plan_container(wanted, inputs);
  CHECK(has(words, "--userns=keep-id"));
  CHECK(has(words, "type=tmpfs,destination=/home/ada,tmpfs-mode=0700,chown=true,tmpfs-size=1073741824"));
  wanted.user.mode = user_spec::mode::image;
  inputs.home.clear();
  CHECK(joined(plan_container(wanted, inputs)).find("--user") == std::string::npos);
  wanted.user.mode = user_spec::mode::explicit_ids;
  wanted.user.uid = 7;
  CHECK(container_user(wanted, false, 1000, 100) == "7:0");
}

TEST_CASE("container_plan: limits and networks") {
  auto wanted = docker_spec();
  wanted.limits.memory_bytes = 100;
  wanted.limits.cpus = 1.5;
  wanted.limits.pids = 9;
  wanted.limits.tmp_bytes = 1'000'000;
  wanted.network.mode = network_spec::mode::named;
  wanted.network.name = "lab";
  const auto words = plan_container(wanted, usual());
  for (const char* word : {"--memory=100", "--memory-swap=100", "--cpus=1.500", "--pids-limit=9", "--network=lab",
                           "--tmpfs=/tmp:exec,mode=1777,size=1000000", "--shm-size=1000000"})
    CHECK_MESSAGE(has(words, word), word);
}

TEST_CASE("container_plan: the profile's words stand where the engine looks for them, and cannot replace init") {
  auto wanted = docker_spec();
  wanted.engine_args = {"--context", "lab"};
  wanted.run_args = {"--entrypoint=/evil"};
  const auto words = plan_container(wanted, usual());
  CHECK(words[0] == "--context");
  CHECK(words[2] == "run");
  const auto place = [&](const char* word) { return std::find(words.begin(), words.end(), word) - words.begin(); };
  CHECK(place("--entrypoint=/evil") < place("--entrypoint=/.sbx-7-init"));
}

TEST_CASE("container_plan: images and networks that would be something else") {
  auto wanted = docker_spec();
  CHECK(check_container(wanted));
  for (const char* image : {"", "--privileged", "-v", "a b", "a\nb", "a\x7f"}) {
    wanted.image = image;
    CHECK_FALSE(check_container(wanted));
  }
  wanted = docker_spec();
  wanted.network.mode = network_spec::mode::named;
  for (const char* name : {"", "host", "container:abc", "ns:/proc/1/ns/net", "-x", "a b", "none", "slirp4netns:x"}) {
    wanted.network.name = name;
    CHECK_FALSE_MESSAGE(check_container(wanted), name);
  }
  wanted.network.name = "lab_1.x-y";
  CHECK(check_container(wanted));
}

TEST_CASE("container_plan: a field of --mount is quoted when it must be") {
  CHECK(mount_field("source", "/a b:c") == "source=/a b:c");
  CHECK(mount_field("source", "/a\"b") == "\"source=/a\"\"b\"");
  CHECK(mount_field("source", "/a,readonly=false") == "\"source=/a,readonly=false\"");
}

}  // namespace
}  // namespace sbx::sandbox
