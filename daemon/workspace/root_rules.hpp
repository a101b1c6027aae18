// Which directories may become roots, copies or mounts of a workspace.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/sys/error.hpp"

namespace sbx::workspace {

// What the daemon keeps for itself. Canonical where it exists.
struct daemon_paths {
  daemon_paths() = default;
  std::vector<std::string> own;  // configuration, state, programs, socket, lock, runtime directory
  std::string copies;            // within the state: its entries may be opened as roots
  std::string state;
};

class root_rules {
 public:
  // The allowed roots may be given by any spelling. Blocks.
  root_rules(daemon_paths paths, std::optional<std::vector<std::string>> allowed_roots);

  // Of a canonical path: denied {reason} for "/", what lies in /proc, /sys or /dev, what allowed_roots does not cover,
  // and what is, contains or lies in something of the daemon's own.
  result<void> check(const std::string& canonical) const;

  // The canonical form of an absolute path, judged. A path that is not there is judged by its deepest existing part
  // before it is called not_found, so the answer tells nothing of what lies outside. Blocks.
  result<std::string> resolve(const std::string& path) const;

 private:
  daemon_paths paths_;
  std::optional<std::vector<std::string>> allowed_;
};

}  // namespace sbx::workspace
