#include "daemon/api/config.hpp"

#include <charconv>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "daemon/fs/policy.hpp"
#include "proto/codec.hpp"

namespace sbx::api {

using proto::at_least;
using proto::between;

void config_limits::describe(proto::visitor& v) {
  v.opt("frame_bytes", frame_bytes, "Of one request.", between(1024, 1 << 30));
  v.opt("frame_depth", frame_depth, "Levels of nesting in one request.", between(8, 512));
  v.opt("connections", connections, "At once.", between(1, 100'000));
  v.opt("requests_per_connection", requests_per_connection, "Running at once; as many more wait.", between(1, 4096));
  v.opt("sessions", sessions, "Opened at once.", between(1, 1'000'000));
  v.opt("workspaces", workspaces, "Open at once.", between(1, 100'000));
  v.opt("max_jobs", max_jobs, "Not closed, a session.", between(1, 100'000));
  v.opt("max_ptys", max_ptys, "Running, a session.", between(1, 100'000));
  v.opt("max_shells", max_shells, "Open, a session.", between(1, 100'000));
  v.opt("max_watches", max_watches, "Open, a session.", between(1, 100'000));
  v.opt("retain_bytes", retain_bytes, "Output kept of a job or pty that does not say.", between(4, 1LL << 40));
  v.opt("exec_output_bytes", exec_output_bytes, "Output kept of each stream of an exec.run that does not say.",
        proto::max_bytes_limits);
  v.opt("edit_bytes", edit_bytes, "Size of a file that fs.edit takes.", at_least(1));
  v.opt("start_timeout_ms", start_timeout_ms, "For a sandbox's init to be ready.", between(1, 3'600'000));
  v.opt("answer_timeout_ms", answer_timeout_ms, "For a sandbox's init to answer.", between(1, 3'600'000));
}

void config_profile::describe(proto::visitor& v) {
  v.opt("backend", backend, "What the sandbox is made with.");
  v.opt("image", image, "Of a container.", proto::c_text);
  v.opt("network", network, "What the processes can reach.");
  v.opt("env", env, "Set inside; null removes.", proto::env_names);
  v.opt("pass_env", pass_env, "Names taken from the daemon's own environment.");
  v.opt("ro_binds", ro_binds, "Host paths seen inside at their own path, read-only; what is missing is skipped.");
  v.opt("mounts", mounts, "Extra host directories or files.");
  v.opt("limits", limits, "Enforced, or opening fails with unsupported.");
  v.opt("shell", shell, "Program and options that a command line is given to; absent: bash -c, or sh -c.");
  v.opt("user", user, "Container backends: \"uid:gid\", or null for the image's own.",
        proto::matching(proto::is_user, "must be \"uid:gid\""));
  v.opt("fs", fs, "Rules for the file methods.");
  v.opt("seccomp", seccomp, "strict adds a filter of our own to what the backend does.");
  v.opt("engine_args", engine_args, "Options of the container engine's command.");
  v.opt("run_args", run_args, "Options of its run command.");
}

void config::describe(proto::visitor& v) {
  v.opt("allowed_roots", allowed_roots, "Directories beneath which roots must lie; absent: anywhere.");
  v.opt("policy", policy, "Authorizers.");
  v.opt("limits", limits, "Bounds on everything a client controls.");
  v.opt("profiles", profiles, "Named walls; \"default\" is built in: bwrap without network.");
}

tl::expected<config, proto::fault> parse_config(std::string_view text) {
  return proto::decode_config_text<config>(text);
}

std::string print_config(const config& from) {
  return proto::encode(from).dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

result<sandbox::network_spec> to_network(const proto::network_choice& choice) {
  sandbox::network_spec out;
  using form = proto::network_choice::form;
  switch (choice.mode) {
    case form::none:
      out.mode = sandbox::network_spec::mode::none;
      break;
    case form::host:
      out.mode = sandbox::network_spec::mode::host;
      break;
    case form::bridge:
      out.mode = sandbox::network_spec::mode::bridge;
      break;
    case form::named:
      out.mode = sandbox::network_spec::mode::named;
      out.name = choice.name;
      break;
    case form::allow:
      return fail(error(error_kind::unsupported, "a network limited to named hosts is not supported")
                      .with("feature", std::string("network.allow"))
                      .with("remedy", std::string("use \"none\" or \"host\"")));
  }
  return out;
}

sandbox::backend_kind to_backend(proto::backend_name name) {
  switch (name) {
    case proto::backend_name::docker:
      return sandbox::backend_kind::docker;
    case proto::backend_name::podman:
      return sandbox::backend_kind::podman;
    case proto::backend_name::none:
      return sandbox::backend_kind::none;
    case proto::backend_name::bwrap:
      break;
  }
  return sandbox::backend_kind::bwrap;
}

sandbox::limits_spec to_limits(const proto::limits_entry& entry) {
  sandbox::limits_spec out;
  out.memory_bytes = entry.memory_bytes;
  out.pids = entry.pids;
  out.tmp_bytes = entry.tmp_bytes;
  out.cpus = entry.cpus;
  return out;
}

sandbox::user_spec to_user(const std::optional<std::string>& user) {
  sandbox::user_spec out;
  if (!user) {
    out.mode = sandbox::user_spec::mode::image;
    return out;
  }
  out.mode = sandbox::user_spec::mode::explicit_ids;
  const auto colon = user->find(':');
  std::from_chars(user->data(), user->data() + colon, out.uid);
  std::from_chars(user->data() + colon + 1, user->data() + user->size(), out.gid);
  return out;
}

workspace::mount_wish to_mount(const proto::mount_entry& entry) {
  workspace::mount_wish out;
  out.source = entry.source.value;
  if (entry.target) out.target = entry.target->value;
  out.writable = entry.writable;
  out.sha256 = entry.sha256;
  return out;
}

process::env_changes to_env(const proto::env_map& env) {
  process::env_changes out;
  for (const auto& [name, value] : env) {
    if (value) {
      out.emplace(name, value->value);
    } else {
      out.emplace(name, std::nullopt);
    }
  }
  return out;
}

namespace {

tl::expected<workspace::profile, proto::fault> to_profile(const config_profile& from, const std::string& pointer) {
  workspace::profile out;
  if (from.backend) out.backend = to_backend(*from.backend);
  if (from.image) out.image = *from.image;
  if (from.network) {
    auto network = to_network(*from.network);
    if (network)
      out.network = *network;
    else
      out.network_refused = network.error();
  }
  for (const auto& name : from.pass_env)
    if (const char* value = std::getenv(name.c_str())) out.env.emplace(name, std::string(value));
  for (auto& [name, value] : to_env(from.env)) out.env.insert_or_assign(name, value);
  for (const auto& path : from.ro_binds) {
    if (path.empty() || path.front() != '/')
      return tl::unexpected(proto::fault(pointer + "/ro_binds", "must be absolute paths"));
    workspace::mount_wish wish;
    wish.source = path;
    wish.optional = true;
    out.mounts.push_back(std::move(wish));
  }
  for (const auto& entry : from.mounts) {
    if (entry.source.value.empty() || entry.source.value.front() != '/')
      return tl::unexpected(proto::fault(pointer + "/mounts", "must have absolute sources"));
    out.mounts.push_back(to_mount(entry));
  }
  if (from.limits) out.limits = to_limits(*from.limits);
  out.shell = from.shell;
  if (!from.user.absent()) out.user = to_user(from.user.value);
  if (from.fs) {
    out.fs_deny = from.fs->deny;
    out.fs_read_only = from.fs->read_only;
    if (auto compiled = fs::policy::compile(out.fs_deny, out.fs_read_only); !compiled)
      return tl::unexpected(proto::fault(pointer + "/fs", compiled.error().message));
  }
  out.strict_seccomp = from.seccomp == seccomp_choice::strict;
  out.engine_args = from.engine_args;
  out.run_args = from.run_args;
  return out;
}

}  // namespace

tl::expected<workspace::settings, proto::fault> make_settings(const config& from) {
  workspace::settings out;
  if (from.allowed_roots) {
    for (const auto& root : *from.allowed_roots)
      if (root.empty() || root.front() != '/')
        return tl::unexpected(proto::fault("/allowed_roots", "must be absolute paths"));
    out.allowed_roots = from.allowed_roots;
  }
  out.policy_all_sessions = from.policy.all_sessions;
  const auto size = [](std::int64_t value) { return static_cast<std::size_t>(value); };
  out.sessions = size(from.limits.sessions);
  out.workspaces = size(from.limits.workspaces);
  out.max_jobs = size(from.limits.max_jobs);
  out.max_ptys = size(from.limits.max_ptys);
  out.max_shells = size(from.limits.max_shells);
  out.max_watches = size(from.limits.max_watches);
  out.retain_bytes = size(from.limits.retain_bytes);
  out.exec_output_bytes = size(from.limits.exec_output_bytes);
  out.edit_bytes = from.limits.edit_bytes;
  out.profiles.emplace("default", workspace::profile());
  for (const auto& [name, entry] : from.profiles) {
    auto made = to_profile(entry, "/profiles/" + name);
    if (!made) return tl::unexpected(made.error());
    out.profiles.insert_or_assign(name, std::move(*made));
  }
  return out;
}

rpc::server_limits make_server_limits(const config& from) {
  rpc::server_limits out;
  out.frame_bytes = static_cast<std::size_t>(from.limits.frame_bytes);
  out.frame_depth = static_cast<int>(from.limits.frame_depth);
  out.connections = static_cast<std::size_t>(from.limits.connections);
  out.requests.running = static_cast<std::size_t>(from.limits.requests_per_connection);
  out.requests.waiting = out.requests.running;
  return out;
}

}  // namespace sbx::api
