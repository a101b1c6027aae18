// shell.*
#pragma once

#include "proto/methods/exec.hpp"

namespace sbx::proto {

struct shell_params : session_params {
  shell_params() = default;
  std::string shell;
  void describe(visitor& v) {
    session_params::describe(v);
    v.req("shell", shell, "Its handle.");
  }
};

struct shell_open_params : workspace_params {
  shell_open_params() = default;
  std::optional<c_bytes> cwd;
  env_map env;
  void describe(visitor& v) {
    workspace_params::describe(v);
    v.opt("cwd", cwd, "Where it begins; absent: the first root.");
    v.opt("env", env, "Over the workspace's; null removes.", env_names);
  }
};
struct shell_open_result {
  shell_open_result() = default;
  std::string shell;
  void describe(visitor& v) { v.req("shell", shell, "Its handle."); }
};

struct shell_run_params : shell_params {
  shell_run_params() = default;
  std::string command;
  std::optional<std::int64_t> timeout_ms;
  std::int64_t max_output_bytes = one_mib;
  std::optional<proto::encoding> encoding;
  void describe(visitor& v) {
    shell_params::describe(v);
    v.req("command", command, "What the shell runs.", c_text);
    v.opt("timeout_ms", timeout_ms, "Not done by then: the command is interrupted.", duration_limits);
    v.opt("max_output_bytes", max_output_bytes, "Of each stream: the first and last half are kept.", max_bytes_limits);
    v.opt("encoding", encoding, "Forces the encoding of the answer's bytes.");
  }
};
struct shell_run_result : exec_run_result {
  shell_run_result() = default;
  std::string cwd;
  bool restarted = false;
  void describe(visitor& v) {
    exec_run_result::describe(v);
    v.file_name("cwd", cwd, "Where the shell is after it.");
    v.opt("restarted", restarted, "The shell could not be kept: this is a fresh one.");
  }
};

struct shell_open {
  static constexpr std::string_view name = "shell.open", summary = "Starts a bash that persists between calls.";
  using params = shell_open_params;
  using result = shell_open_result;
};
struct shell_run {
  static constexpr std::string_view name = "shell.run", summary = "Runs a command in it, one at a time.";
  using params = shell_run_params;
  using result = shell_run_result;
};
struct shell_close {
  static constexpr std::string_view name = "shell.close", summary = "Ends it.";
  using params = shell_params;
  using result = nothing;
};

}  // namespace sbx::proto
