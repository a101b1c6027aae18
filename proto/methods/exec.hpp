// exec.*, and what exec.run, job.start and pty.open have in common.
#pragma once

#include "proto/types.hpp"

namespace sbx::proto {

struct command_params : workspace_params {
  command_params() = default;
  std::optional<std::vector<c_bytes>> argv;
  std::optional<std::string> command;
  std::optional<c_bytes> cwd;
  env_map env;
  std::int64_t grace_ms = 2000;
  void describe(visitor& v) {
    workspace_params::describe(v);
    v.opt("argv", argv, "The program and its arguments.", items(1, 1'000'000));
    v.opt("command", command, "A line for the shell.", c_text);
    v.exactly_one({"argv", "command"});
    v.opt("cwd", cwd, "Where it runs: in a root, relative to the first; absent: the first root.");
    v.opt("env", env, "Over the workspace's; null removes.", env_names);
    v.opt("grace_ms", grace_ms, "Between TERM and KILL.", duration_limits);
  }
};

// `data` and `encoding`, or {"fd": K}.
struct stdin_source {
  stdin_source() = default;
  std::optional<payload> content;
  std::optional<std::int64_t> fd;
  void describe(visitor& v) {
    v.data(content, "The bytes.");
    v.opt("fd", fd, "A descriptor that rode with the request: a pipe, a socket or /dev/null.", between(0, 7));
    v.exactly_one({"data", "fd"});
  }
};

enum class survivors_rule { leave, kill };
template <>
struct words<survivors_rule> {
  static constexpr std::string_view list[] = {"leave", "kill"};
};

struct exec_run_params : command_params {
  exec_run_params() = default;
  std::optional<stdin_source> input;
  std::optional<fd_index> stdout_fd, stderr_fd;
  std::optional<std::int64_t> timeout_ms, yield_ms;
  bool merge_stderr = false;
  std::int64_t max_output_bytes = one_mib;
  survivors_rule survivors = survivors_rule::leave;
  std::optional<proto::encoding> encoding;
  void describe(visitor& v) {
    command_params::describe(v);
    v.opt("stdin", input, "What it reads; absent: empty.");
    v.opt("stdout", stdout_fd, "The command writes there directly.");
    v.opt("stderr", stderr_fd, "The command writes there directly.");
    v.opt("timeout_ms", timeout_ms, "Not done by then: the whole tree is ended.", duration_limits);
    v.opt("yield_ms", yield_ms, "Not done by then: answers running, and the command goes on as a job.",
          duration_limits);
    v.opt("merge_stderr", merge_stderr, "Both streams into stdout.");
    v.opt("max_output_bytes", max_output_bytes, "Of each stream: the first and last half are kept.", max_bytes_limits);
    v.opt("survivors", survivors, "What happens to background descendants.");
    v.opt("encoding", encoding, "Forces the encoding of the answer's bytes.");
  }
};

// What one stream held.
struct output_part {
  output_part() = default;
  payload content;
  std::int64_t total_bytes = 0, dropped_bytes = 0;
  std::optional<std::int64_t> dropped_at;
  void describe(visitor& v) {
    v.data(content, "The bytes kept.");
    v.req("total_bytes", total_bytes, "Written by the command.");
    v.req("dropped_bytes", dropped_bytes, "Of those not kept.");
    v.req("dropped_at", dropped_at, "Offset in the stream of what was dropped, or null.");
  }
};

struct exec_run_result {
  exec_run_result() = default;
  run_status status = run_status::exited;
  std::optional<exit_info> exit;
  std::optional<output_part> out, err;
  std::int64_t survivors = 0;
  std::optional<std::string> job;
  void describe(visitor& v) {
    v.req("status", status, "Running when it yielded.");
    v.req("exit", exit, "How it ended, or null.");
    v.req("stdout", out, "Null when handed over.");
    v.req("stderr", err, "Null when handed over or merged.");
    v.req("survivors", survivors, "Descendants that live on.");
    v.opt("job", job, "When running: the job it goes on as.");
  }
};

struct exec_signal_params : session_params {
  exec_signal_params() = default;
  request_id id;
  std::string signal;
  signal_target target = signal_target::tree;
  void describe(visitor& v) {
    session_params::describe(v);
    v.req("id", id, "Of an exec.run in flight on this connection.");
    v.req("signal", signal, "Name of the signal, as \"SIGINT\".");
    v.opt("target", target, "Who gets it.");
  }
};

struct exec_run {
  static constexpr std::string_view name = "exec.run", summary = "Runs a command to its end.";
  using params = exec_run_params;
  using result = exec_run_result;
};
struct exec_signal {
  static constexpr std::string_view name = "exec.signal", summary = "Signals a command in flight on this connection.";
  using params = exec_signal_params;
  using result = nothing;
};

}  // namespace sbx::proto
