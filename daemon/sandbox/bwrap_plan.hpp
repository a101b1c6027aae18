// The walls of the bwrap backend as an argument vector. Pure: the same inputs give the same vector (golden-tested).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "daemon/sandbox/host_facts.hpp"
#include "daemon/sandbox/spec.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::sandbox {

// One thing more to bind than roots and mounts say (the git directory of a worktree).
struct extra_bind {
  extra_bind() = default;
  enum class kind { writable, read_only, empty_file, empty_directory } what = kind::read_only;
  std::string path;                    // the same outside and inside
  std::shared_ptr<sys::unique_fd> fd;  // O_PATH; null for the empty stand-ins
};

// A descriptor that bwrap gets: an object to bind, or bytes to copy into the sandbox.
struct plan_descriptor {
  plan_descriptor() = default;
  int number = -1;  // in bwrap
  std::variant<std::shared_ptr<sys::unique_fd>, std::string> source;
};

// The checked copy of a mount with a sha256 (see verified_file.hpp), which is shown in the file's stead.
struct verified_mount {
  verified_mount() = default;
  std::shared_ptr<sys::unique_fd> content;  // to be read from its offset to its end
  bool executable = false;
};

struct bwrap_inputs {
  bwrap_inputs() = default;
  host_facts host;
  std::shared_ptr<sys::unique_fd> init;  // O_PATH of sbx-init
  std::vector<extra_bind> extra;
  std::map<std::string, verified_mount> verified;  // by the mount's target
  std::vector<std::string> init_arguments;         // after its name
  int status_fd = 4;                               // bwrap's --info-fd
  int first_free_fd = 6;                           // descriptors of the plan are numbered from here
};

struct bwrap_plan {
  bwrap_plan() = default;
  std::vector<std::string> arguments;  // for --args, up to and without "--"
  std::vector<std::string> command;    // what follows "--"
  std::vector<plan_descriptor> descriptors;
  std::string home;  // inside
};

bwrap_plan plan_bwrap(const spec& wanted, const bwrap_inputs& inputs);

// The home directory inside: the host's own path, or, where that is, holds or lies in a root or mount target, a spare
// one.
std::string choose_home(const spec& wanted, const std::string& host_home);

}  // namespace sbx::sandbox
