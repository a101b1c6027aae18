// From exec.run's, job.start's and pty.open's common parameters to a command that can be started.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/api/core.hpp"
#include "daemon/process/command.hpp"
#include "proto/methods/exec.hpp"

namespace sbx::api {

struct command_wish {
  command_wish() = default;
  explicit command_wish(const proto::command_params& from);
  std::optional<std::vector<std::string>> argv;
  std::optional<std::string> line;
  std::optional<std::string> cwd;
  process::env_changes env;
  std::optional<std::string> terminal;  // TERM, when there is one
};

struct ready_command {
  ready_command() = default;
  std::shared_ptr<sandbox::sandbox> box;
  process::command command;
};

// Everything of a command but its argv, as it is to run in that sandbox.
process::command make_command(const workspace::hold& held, const command_wish& wish, const sandbox::sandbox& box);

// On the registry's strand: the sandbox, started if need be, and the command as it is to run in it. Errors: root_gone,
// those of a sandbox's start.
async::task<result<ready_command>> prepare_command(core& c, place where, command_wish wish,
                                                   sandbox::progress_fn progress);

// Whoever has a say in it is asked. From any strand.
async::task<result<void>> ask_about_command(place where, std::string_view method, command_wish wish);

// The roots are still there. root_gone.
async::task<result<void>> check_roots(core& c, std::shared_ptr<const fs::root_set> roots);

}  // namespace sbx::api
