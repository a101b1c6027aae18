// The configuration file, described like any wire struct: unknown keys are refused with their JSON pointer.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/rpc/services.hpp"
#include "daemon/workspace/settings.hpp"
#include "proto/methods/workspace.hpp"

namespace sbx::api {

struct config_policy {
  config_policy() = default;
  bool all_sessions = false;
  void describe(proto::visitor& v) {
    v.opt("all_sessions", all_sessions, "Whether an authorizer may be registered for all sessions.");
  }
};

struct config_limits {
  config_limits() = default;
  std::int64_t frame_bytes = 16 << 20, frame_depth = 64, connections = 512, requests_per_connection = 256;
  std::int64_t sessions = 1024, workspaces = 256, max_jobs = 8, max_ptys = 8, max_shells = 8, max_watches = 64;
  std::int64_t retain_bytes = 1 << 20, exec_output_bytes = 1 << 20, edit_bytes = 1 << 30;
  std::int64_t start_timeout_ms = 10'000, answer_timeout_ms = 10'000;
  void describe(proto::visitor& v);
};

struct config_fs {
  config_fs() = default;
  std::vector<std::string> deny, read_only;
  void describe(proto::visitor& v) {
    v.opt("deny", deny, "Globs below a root that no file method touches or shows.");
    v.opt("read_only", read_only, "Globs below a root that no file method changes.");
  }
};

enum class seccomp_choice { standard, strict };

struct config_profile {
  config_profile() = default;
  std::optional<proto::backend_name> backend;
  std::optional<std::string> image;
  std::optional<proto::network_choice> network;
  proto::env_map env;
  std::vector<std::string> pass_env, ro_binds;
  std::vector<proto::mount_entry> mounts;
  std::optional<proto::limits_entry> limits;
  std::vector<std::string> shell;
  proto::nullable<std::string> user;
  std::optional<config_fs> fs;
  seccomp_choice seccomp = seccomp_choice::standard;
  std::vector<std::string> engine_args, run_args;
  void describe(proto::visitor& v);
};

struct config {
  config() = default;
  std::optional<std::vector<std::string>> allowed_roots;
  config_policy policy;
  config_limits limits;
  std::map<std::string, config_profile> profiles;
  void describe(proto::visitor& v);
};

// From the file's text. A fault names the culprit by JSON pointer, or line and column where it is no JSON.
tl::expected<config, proto::fault> parse_config(std::string_view text);
// The whole configuration with its defaults, as indented JSON.
std::string print_config(const config& from);

// In domain terms. A fault for what only the whole can tell (a relative path, a network that cannot be).
tl::expected<workspace::settings, proto::fault> make_settings(const config& from);
rpc::server_limits make_server_limits(const config& from);

// Wire choices in domain terms, shared with workspace.open. unsupported for network.allow.
result<sandbox::network_spec> to_network(const proto::network_choice& choice);
sandbox::backend_kind to_backend(proto::backend_name name);
sandbox::limits_spec to_limits(const proto::limits_entry& entry);
sandbox::user_spec to_user(const std::optional<std::string>& user);
workspace::mount_wish to_mount(const proto::mount_entry& entry);
process::env_changes to_env(const proto::env_map& env);

}  // namespace sbx::api

template <>
struct sbx::proto::words<sbx::api::seccomp_choice> {
  static constexpr std::string_view list[] = {"standard", "strict"};
};
