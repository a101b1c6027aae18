// What the configuration says, in domain terms. api reads it from its described form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/process/command.hpp"
#include "daemon/sandbox/spec.hpp"
#include "daemon/sys/error.hpp"

namespace sbx::workspace {

struct mount_wish {
  mount_wish() = default;
  std::string source;
  std::optional<std::string> target;
  bool writable = false, optional = false;
  std::optional<std::string> sha256;
};

// A named set of walls and habits. The built-in `default` is this, as it stands.
struct profile {
  profile() = default;
  sandbox::backend_kind backend = sandbox::backend_kind::bwrap;
  std::string image;
  std::optional<sandbox::network_spec> network;  // absent: the backend's default
  process::env_changes env;
  std::vector<std::string> pass_env;  // names taken from the daemon's own environment
  std::vector<mount_wish> mounts;     // ro_binds and mounts
  sandbox::limits_spec limits;
  std::vector<std::string> shell;  // program and options before the line; empty: bash -c, else sh -c
  sandbox::user_spec user;
  std::vector<std::string> fs_deny, fs_read_only;
  bool strict_seccomp = false;
  std::vector<std::string> engine_args, run_args;
  std::optional<error> network_refused;  // the configuration asks for one that cannot be; told when it is used
};

struct settings {
  settings() = default;
  std::optional<std::vector<std::string>> allowed_roots;  // absent: any
  bool policy_all_sessions = false;
  std::size_t sessions = 1024, workspaces = 256;
  std::size_t max_jobs = 8, max_ptys = 8, max_shells = 8, max_watches = 64;
  std::size_t retain_bytes = 1u << 20, retain_bytes_max = 1u << 30;
  std::size_t exec_output_bytes = 1u << 20;
  std::int64_t edit_bytes = std::int64_t{1} << 30;
  std::map<std::string, profile> profiles;  // always has "default"
};

}  // namespace sbx::workspace
