// Makes the backends, once, when the daemon starts.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/async/blocking_pool.hpp"
#include "daemon/sandbox/backend.hpp"

namespace sbx::sandbox {

// What every command starts with, noted by main before it changes its own (DESIGN section 6).
struct process_defaults {
  process_defaults() = default;
  mode_t umask = 022;
  std::vector<std::pair<int, rlimit>> rlimits;  // RLIMIT_… and its value
};

// The umask and all resource limits of this process as they are now. Changes the umask for an instant: call it before
// there are threads.
process_defaults note_process_defaults();

struct backend_options {
  backend_options() = default;
  std::string init_path;          // sbx-init; empty: beside the running program, else ../libexec/sbx/sbx-init
  std::string bwrap_path;         // a path, or a name looked up in PATH; empty: SBX_BWRAP, else "bwrap"
  std::string docker_path;        // likewise: SBX_DOCKER, else "docker"
  std::string podman_path;        // likewise: SBX_PODMAN, else "podman"
  std::string socket_path;        // of the daemon: with its uid the label of what it leaves in an engine
  std::string runtime_directory;  // 0700, the daemon's own, beside its socket: for the one-shot sockets of containers
  std::chrono::milliseconds start_timeout{10'000};  // from init's start to its `ready`
  process_defaults defaults;
};

// The backends of this host, all four, whether they can work or not (probe() tells). They live on the
// context: launch() moves to its thread for the fork, because a parent-death signal follows the thread that forked.
using backend_set = std::map<backend_kind, std::shared_ptr<backend>>;
// The pool and the context outlive them.
backend_set make_backends(async::asio::io_context& context, async::blocking_pool& pool, backend_options options);

// "bwrap", "docker", "podman", "none".
std::string_view name_of(backend_kind kind);

}  // namespace sbx::sandbox
