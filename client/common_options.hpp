// Options that several verbs share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/app.hpp"
#include "client/verbs.hpp"
#include "proto/methods/exec.hpp"
#include "proto/methods/workspace.hpp"

namespace sbx::client {

// Which workspace is meant.
struct where_options {
  std::optional<std::string> workspace, root;
  void describe(options& o);
  outcome<proto::workspace_entry> find(app& a) const { return a.workspace(workspace, root); }
};

// How a workspace is opened.
struct open_options {
  std::optional<std::string> profile, backend, image, network, user, name;
  std::vector<std::string> env, mounts, writable_mounts;
  std::optional<std::int64_t> memory_bytes, pids, tmp_bytes;
  std::optional<std::string> cpus;
  bool image_user = false;
  void describe(options& o);
  // Everything but the roots.
  outcome<proto::workspace_open_params> params() const;
};

// What is run, and how.
struct command_options {
  std::vector<std::string> words, env;
  std::optional<std::string> cwd;
  bool shell = false;
  void describe(options& o, std::size_t words_min = 1);
  // Fills what exec.run, job.start and pty.open have in common.
  outcome<void> fill(proto::command_params& into, const proto::workspace_entry& where) const;
};

outcome<proto::env_map> env_of(const std::vector<std::string>& given);

// "none", "host", "bridge", "name=NETWORK" or "allow=NAME,NAME…".
outcome<proto::network_choice> parse_network(std::string_view text);

// "SOURCE" or "SOURCE=TARGET".
proto::mount_entry parse_mount(std::string_view text);

// One line on how a command ended other than by itself; empty when it did.
std::string describe_end(const proto::exit_info& end);
// The exit code that passes it on: the command's, 124 after a timeout, 125 when it is not known.
int exit_code_of(const proto::exit_info& end);

}  // namespace sbx::client
