// What is to run, resolved: plain data.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/sandbox/sandbox.hpp"

namespace sbx::process {

struct command {
  command() = default;
  std::vector<std::string> argv;
  std::vector<std::string> env;        // "NAME=VALUE", complete
  std::string cwd;                     // absolute, inside
  std::string search_path;             // where argv[0] is looked up; empty: env's PATH
  std::vector<std::string> cwd_roots;  // cwd must end up beneath one of them
};

// The PATH that a sandbox has by itself: its base's, else the usual one.
std::string own_path(const sandbox::sandbox& box);

// Changes to an environment: a value, or nothing to remove the name.
using env_changes = std::map<std::string, std::optional<std::string>>;

// The environment inside: the sandbox's own base (an image's) first, whose gaps the fixed small set fills (PATH HOME
// USER LANG TERM TMPDIR, pagers off without a terminal), then each layer in order.
std::vector<std::string> make_environment(const sandbox::sandbox& box, std::optional<std::string> terminal,
                                          const std::vector<const env_changes*>& layers);

}  // namespace sbx::process
