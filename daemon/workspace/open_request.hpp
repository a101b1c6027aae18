// What workspace.open asks for, in domain terms, and how it becomes a sandbox's spec.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/fs/root.hpp"
#include "daemon/sandbox/backend.hpp"
#include "daemon/workspace/copies.hpp"
#include "daemon/workspace/root_rules.hpp"
#include "daemon/workspace/settings.hpp"

namespace sbx::workspace {

struct open_request {
  open_request() = default;
  std::vector<std::string> roots;
  std::optional<std::string> copy_of;
  std::string profile = "default";
  std::optional<sandbox::backend_kind> backend;
  std::optional<std::string> image;
  std::optional<sandbox::network_spec> network;
  process::env_changes env;
  std::vector<mount_wish> mounts;
  sandbox::limits_spec limits;
  std::optional<sandbox::user_spec> user;
  std::optional<std::string> name;
  bool keep = false;
};

// The profile with the request's fields over it. invalid_params for a profile that is not there.
result<profile> effective_walls(const open_request& request, const settings& known);

// What those walls ask of a sandbox, but for roots and mounts.
sandbox::spec spec_of(const profile& walls);

// An open request made real on disk: roots pinned, mounts opened, a copy made.
struct prepared {
  prepared() = default;
  std::shared_ptr<const fs::root_set> roots;
  sandbox::spec spec;  // without the workspace's id
  std::string roots_identity, identity;
  std::shared_ptr<owned_copy> copy;
};

// Blocks: run it in the pool. Errors as workspace.open's.
result<prepared> prepare(const open_request& request, const profile& walls, const root_rules& rules,
                         const std::string& copies, const fs::call& how);

}  // namespace sbx::workspace
