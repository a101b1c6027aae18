// The command line that starts a container, for docker and podman. Pure: golden-tested. No word that a client, an image
// or a workspace chose can become an option: each stands in the value of one, or after it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/sandbox/spec.hpp"
#include "daemon/sys/error.hpp"

namespace sbx::sandbox {

struct container_inputs {
  container_inputs() = default;
  std::string name;            // the container's, unique
  std::string daemon_label;    // uid and socket of the daemon
  std::string init_path;       // of sbx-init on the host
  std::string link_directory;  // on the host: the one-shot socket and the pipe for init's reason
  std::vector<std::string> init_arguments;
  bool rootless = false;
  uid_t uid = 0;  // the daemon's own
  gid_t gid = 0;
  std::string home;                             // inside; empty: the image's own business (user: image)
  std::string passwd_path, group_path;          // on the host, bound over the image's; empty: none
  std::map<std::string, std::string> verified;  // target of a mount with sha256 -> the checked copy's path on the host
};

// Where they are inside: named after the container, so that no image can have something there beforehand.
std::string container_link_target(const std::string& name);
std::string container_init_target(const std::string& name);

// Everything after the engine's own path: engine_args, run and its options, image, init's arguments.
std::vector<std::string> plan_container(const spec& wanted, const container_inputs& inputs);

// The --user value: what maps to the daemon's uid and gid on the host. Nothing for the image's own user.
std::optional<std::string> container_user(const spec& wanted, bool rootless, uid_t uid, gid_t gid);

// invalid_params: an image that is missing, begins with '-' or holds blanks or control characters; a network name
// likewise.
result<void> check_container(const spec& wanted);

// One field of a --mount value, quoted as CSV wants it.
std::string mount_field(std::string_view name, std::string_view value);

}  // namespace sbx::sandbox
