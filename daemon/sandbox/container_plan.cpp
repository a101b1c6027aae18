#include "daemon/sandbox/container_plan.hpp"

#include <algorithm>
#include <cstdio>
#include <initializer_list>

#include "daemon/sandbox/mount_rules.hpp"
#include "daemon/sandbox/paths.hpp"

namespace sbx::sandbox {
namespace {

constexpr std::int64_t default_home_bytes = std::int64_t{1} << 30;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", value);
  return text;
}

class planner {
 public:
  planner(const spec& wanted, const container_inputs& inputs) : wanted_(wanted), in_(inputs) {}

  std::vector<std::string> make() {
    words_ = wanted_.engine_args;
    add({"run", "--detach", "--rm", "--init=false", "--pull=never", "--no-healthcheck", "--log-driver=none"});
    add({"--name=" + in_.name, "--label=sbx.daemon=" + in_.daemon_label, "--label=sbx.workspace=" + wanted_.workspace});
    add({"--workdir=/", "--stop-signal=SIGKILL"});
    add_network();
    add_user();
    add_limits();
    add_binds();
    words_.insert(words_.end(), wanted_.run_args.begin(), wanted_.run_args.end());
    add({"--entrypoint=" + container_init_target(in_.name), "--", wanted_.image});
    words_.insert(words_.end(), in_.init_arguments.begin(), in_.init_arguments.end());
    return std::move(words_);
  }

 private:
  void add(std::initializer_list<std::string> words) { words_.insert(words_.end(), words); }

  void add_network() {
    switch (wanted_.network.mode) {
      case network_spec::mode::none:
        return add({"--network=none", "--hostname=sbx"});
      case network_spec::mode::host:
        return add({"--network=host"});
      case network_spec::mode::bridge:
        return add({"--network=bridge", "--hostname=sbx"});
      case network_spec::mode::named:
        return add({"--network=" + wanted_.network.name, "--hostname=sbx"});
    }
  }

  void add_user() {
    const auto user = container_user(wanted_, in_.rootless, in_.uid, in_.gid);
    if (user) add({"--user=" + *user});
    if (user && in_.rootless && wanted_.backend == backend_kind::podman) add({"--userns=keep-id"});
  }

  void add_limits() {
    const auto& limits = wanted_.limits;
    if (limits.memory_bytes) {
      const auto bytes = std::to_string(*limits.memory_bytes);
      add({"--memory=" + bytes, "--memory-swap=" + bytes});
    }
    if (limits.cpus) add({"--cpus=" + number(*limits.cpus)});
    if (limits.pids) add({"--pids-limit=" + std::to_string(*limits.pids)});
    if (limits.tmp_bytes) {
      const auto bytes = std::to_string(std::max<std::int64_t>(*limits.tmp_bytes, 4096));
      if (!is_covered("/tmp")) add({"--tmpfs=/tmp:exec,mode=1777,size=" + bytes});
      add({"--shm-size=" + bytes});
    } else {
      add({"--shm-size=1073741824"});
    }
    if (wanted_.strict_seccomp) add({"--security-opt=no-new-privileges"});
  }

  bool is_covered(std::string_view path) const {
    for (const auto& root : wanted_.roots)
      if (is_within(path, root.path)) return true;
    for (const auto& mount : wanted_.mounts)
      if (mount.fd && is_within(path, target_of(mount))) return true;
    return false;
  }

  void bind(std::string_view source, std::string_view target, bool writable) {
    add({"--mount", "type=bind," + mount_field("source", source) + "," + mount_field("target", target) +
                        (writable ? "" : ",readonly")});
  }

  // A tmpfs of the user's own. Only docker takes its owner by number; podman gives it to the container's user.
  void add_home() {
    if (in_.home.empty() || is_covered(in_.home)) return;
    const auto bytes =
        std::to_string(std::max<std::int64_t>(wanted_.limits.tmp_bytes.value_or(default_home_bytes), 4096));
    if (wanted_.backend == backend_kind::podman)
      return add({"--mount", "type=tmpfs,destination=" + in_.home + ",tmpfs-mode=0700,chown=true,tmpfs-size=" + bytes});
    auto owner = *container_user(wanted_, in_.rootless, in_.uid, in_.gid);
    const auto colon = owner.find(':');
    add({"--tmpfs=" + in_.home + ":exec,mode=0700,uid=" + owner.substr(0, colon) + ",gid=" + owner.substr(colon + 1) +
         ",size=" + bytes});
  }

  void add_binds() {
    bind(in_.init_path, container_init_target(in_.name), false);
    bind(in_.link_directory, container_link_target(in_.name), false);
    if (!in_.passwd_path.empty() && !is_covered("/etc/passwd")) bind(in_.passwd_path, "/etc/passwd", false);
    if (!in_.group_path.empty() && !is_covered("/etc/group")) bind(in_.group_path, "/etc/group", false);
    add_home();
    for (const auto& mount : wanted_.mounts) {
      const auto& target = target_of(mount);
      const auto copy = in_.verified.find(target);
      if (mount.fd) bind(copy == in_.verified.end() ? mount.source : copy->second, target, mount.writable);
    }
    for (const auto& root : wanted_.roots) bind(root.path, root.path, true);
  }

  const spec& wanted_;
  const container_inputs& in_;
  std::vector<std::string> words_;
};

result<void> check_word(std::string_view word, std::string_view what) {
  if (word.empty()) return fail(error_kind::invalid_params, "this backend needs " + std::string(what));
  const bool printable = std::all_of(word.begin(), word.end(), [](unsigned char c) { return c > ' ' && c < 0x7f; });
  if (word.front() == '-' || !printable)
    return fail(error_kind::invalid_params, std::string(what) + " has a name that no engine takes");
  return {};
}

}  // namespace

std::string container_link_target(const std::string& name) {
  return "/." + name;
}
std::string container_init_target(const std::string& name) {
  return "/." + name + "-init";
}

std::vector<std::string> plan_container(const spec& wanted, const container_inputs& inputs) {
  return planner(wanted, inputs).make();
}

std::optional<std::string> container_user(const spec& wanted, bool rootless, uid_t uid, gid_t gid) {
  switch (wanted.user.mode) {
    case user_spec::mode::image:
      return std::nullopt;
    case user_spec::mode::explicit_ids:
      return std::to_string(wanted.user.uid) + ":" + std::to_string(wanted.user.gid);
    case user_spec::mode::daemon:
      break;
  }
  if (rootless && wanted.backend == backend_kind::docker) return "0:0";
  return std::to_string(uid) + ":" + std::to_string(gid);
}

result<void> check_container(const spec& wanted) {
  if (auto fine = check_word(wanted.image, "an image"); !fine) return fine;
  if (wanted.network.mode != network_spec::mode::named) return {};
  // The engines read more into a network's name than a name: container:ID would share another container's.
  const auto& name = wanted.network.name;
  if (name.find_first_of(":,=/") != std::string::npos || name == "host" || name == "none" || name == "private" ||
      name == "default" || name == "ns" || name == "slirp4netns" || name == "pasta" || name == "container")
    return fail(error_kind::invalid_params, "a network of this name cannot be asked for by name");
  return check_word(name, "a network");
}

std::string mount_field(std::string_view name, std::string_view value) {
  if (value.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(name) + "=" + std::string(value);
  std::string field = "\"" + std::string(name) + "=";
  for (const char c : value) field += c == '"' ? std::string("\"\"") : std::string(1, c);
  return field + "\"";
}

}  // namespace sbx::sandbox
