// What a sandbox is to be: plain data, the same for every backend. Filled in by workspace, read by the backends.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/sys/fd.hpp"

namespace sbx::sandbox {

enum class backend_kind { bwrap, docker, podman, none };

struct root_spec {
  root_spec() = default;
  std::string path;                    // canonical; the same inside and outside
  std::shared_ptr<sys::unique_fd> fd;  // O_PATH, taken at workspace.open: what is bound is this object
};

struct mount_spec {
  mount_spec() = default;
  std::string source, target;  // canonical source; target inside (default: the source)
  bool writable = false;
  bool optional = false;               // a missing source is skipped (profile ro_binds)
  std::optional<std::string> sha256;   // lower-case hex; of a file, checked on the object that is mounted
  std::shared_ptr<sys::unique_fd> fd;  // O_PATH of source, taken at workspace.open
};

struct network_spec {
  network_spec() = default;
  enum class mode { none, host, bridge, named } mode = mode::none;
  std::string name;  // of a named network
};

struct limits_spec {
  limits_spec() = default;
  std::optional<std::int64_t> memory_bytes, pids, tmp_bytes;
  std::optional<double> cpus;
};

struct user_spec {
  user_spec() = default;
  enum class mode { daemon, image, explicit_ids } mode = mode::daemon;
  uid_t uid = 0;
  gid_t gid = 0;
};

struct spec {
  spec() = default;
  std::string workspace;  // ws-…, for labels and host names
  backend_kind backend = backend_kind::bwrap;
  std::string image;
  std::vector<root_spec> roots;
  std::vector<mount_spec> mounts;
  network_spec network;
  limits_spec limits;
  user_spec user;
  bool strict_seccomp = false;
  std::vector<std::string> engine_args, run_args;  // from the profile only
};

}  // namespace sbx::sandbox
