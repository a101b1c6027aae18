// pty.*
#pragma once

#include "proto/methods/job.hpp"

namespace sbx::proto {

constexpr limits screen_limits = between(1, 65535);

struct pty_params : session_params {
  pty_params() = default;
  std::string pty;
  void describe(visitor& v) {
    session_params::describe(v);
    v.req("pty", pty, "Its handle.");
  }
};

struct pty_open_params : command_params {
  pty_open_params() = default;
  std::int64_t rows = 24, cols = 80;
  std::string term = "xterm-256color";
  std::optional<std::int64_t> retain_bytes;  // absent: the configuration's, 1 MiB
  void describe(visitor& v) {
    command_params::describe(v);
    v.opt("rows", rows, "Height.", screen_limits);
    v.opt("cols", cols, "Width.", screen_limits);
    v.opt("term", term, "TERM inside.", c_text);
    v.opt("retain_bytes", retain_bytes, "How much output is kept (default 1 MiB).", between(1, 1LL << 40));
  }
};
struct pty_open_result {
  pty_open_result() = default;
  std::string pty;
  void describe(visitor& v) { v.req("pty", pty, "Its handle."); }
};

struct pty_write_params : pty_params {
  pty_write_params() = default;
  payload content;
  std::optional<std::int64_t> wait_ms;
  void describe(visitor& v) {
    pty_params::describe(v);
    v.data(content, "What is typed.");
    v.opt("wait_ms", wait_ms, "Waits so long for room.", duration_limits);
  }
};
struct pty_resize_params : pty_params {
  pty_resize_params() = default;
  std::int64_t rows = 24, cols = 80;
  void describe(visitor& v) {
    pty_params::describe(v);
    v.req("rows", rows, "Height.", screen_limits);
    v.req("cols", cols, "Width.", screen_limits);
  }
};
struct pty_read_params : pty_params {
  pty_read_params() = default;
  read_window window;
  void describe(visitor& v) {
    pty_params::describe(v);
    window.describe(v);
  }
};
struct pty_follow_params : pty_params {
  pty_follow_params() = default;
  std::int64_t offset = 0;
  std::optional<proto::encoding> encoding;
  void describe(visitor& v) {
    pty_params::describe(v);
    v.opt("offset", offset, "Where to begin.", at_least(0));
    v.opt("encoding", encoding, "Forces the encoding of the notifications' bytes.");
  }
};
struct pty_wait_params : pty_params {
  pty_wait_params() = default;
  std::optional<std::int64_t> timeout_ms;
  void describe(visitor& v) {
    pty_params::describe(v);
    v.opt("timeout_ms", timeout_ms, "Answers after so long in any case.", duration_limits);
  }
};
struct pty_signal_params : pty_params {
  pty_signal_params() = default;
  std::string signal;
  signal_target target = signal_target::tree;
  void describe(visitor& v) {
    pty_params::describe(v);
    v.req("signal", signal, "Name of the signal, as \"SIGINT\".");
    v.opt("target", target, "Who gets it.");
  }
};
struct pty_close_params : pty_params {
  pty_close_params() = default;
  std::optional<std::int64_t> grace_ms;
  void describe(visitor& v) {
    pty_params::describe(v);
    v.opt("grace_ms", grace_ms, "Between TERM and KILL; absent: as at its start.", duration_limits);
  }
};

struct pty_entry {
  pty_entry() = default;
  std::string pty;
  std::optional<std::string> command;
  std::optional<std::vector<c_bytes>> argv;
  std::string workspace;
  run_status status = run_status::running;
  std::optional<exit_info> exit;
  std::string started_at;
  std::int64_t total_bytes = 0, rows = 0, cols = 0;
  void describe(visitor& v) {
    v.req("pty", pty, "Its handle.");
    v.opt("command", command, "What was started, if a line.");
    v.opt("argv", argv, "What was started, if a program.");
    v.req("workspace", workspace, "Where.");
    v.req("status", status, "Whether the leader has ended.");
    v.req("exit", exit, "How it ended, or null.");
    v.req("started_at", started_at, "When, in RFC 3339 UTC.");
    v.req("total_bytes", total_bytes, "Written by it so far.");
    v.req("rows", rows, "Height.");
    v.req("cols", cols, "Width.");
  }
};
struct pty_list_result {
  pty_list_result() = default;
  std::vector<pty_entry> ptys;
  void describe(visitor& v) { v.req("ptys", ptys, "This session's."); }
};

struct pty_open {
  static constexpr std::string_view name = "pty.open", summary = "Starts a command on a terminal of its own.";
  using params = pty_open_params;
  using result = pty_open_result;
};
struct pty_write {
  static constexpr std::string_view name = "pty.write", summary = "Types into a terminal.";
  using params = pty_write_params;
  using result = write_result;
};
struct pty_resize {
  static constexpr std::string_view name = "pty.resize", summary = "Changes a terminal's size.";
  using params = pty_resize_params;
  using result = nothing;
};
struct pty_read {
  static constexpr std::string_view name = "pty.read", summary = "Output from an offset; consumes nothing.";
  using params = pty_read_params;
  using result = log_read_result;
};
struct pty_follow {
  static constexpr std::string_view name = "pty.follow", summary = "Sends a terminal's output to this connection.";
  using params = pty_follow_params;
  using result = nothing;
};
struct pty_unfollow {
  static constexpr std::string_view name = "pty.unfollow", summary = "Ends that.";
  using params = pty_params;
  using result = nothing;
};
struct pty_wait {
  static constexpr std::string_view name = "pty.wait", summary = "Waits for the end.";
  using params = pty_wait_params;
  using result = wait_result;
};
struct pty_signal {
  static constexpr std::string_view name = "pty.signal", summary = "Signals what runs on a terminal.";
  using params = pty_signal_params;
  using result = nothing;
};
struct pty_close {
  static constexpr std::string_view name = "pty.close", summary = "Hangs up, ends the tree and forgets it.";
  using params = pty_close_params;
  using result = wait_result;
};
struct pty_list {
  static constexpr std::string_view name = "pty.list", summary = "This session's terminals.";
  using params = session_params;
  using result = pty_list_result;
};

struct pty_output_note {
  static constexpr std::string_view name = "pty.output", summary = "Output of a followed terminal.";
  pty_output_note() = default;
  std::string pty;
  stream_name stream = stream_name::out;
  std::int64_t offset = 0;
  payload content;
  std::int64_t lost_bytes = 0;
  void describe(visitor& v) {
    v.req("pty", pty, "Its handle.");
    v.req("stream", stream, "Always stdout.");
    v.req("offset", offset, "Where the bytes begin.");
    v.data(content, "The bytes.");
    v.req("lost_bytes", lost_bytes, "Not kept between the last notification and this one.");
  }
};
struct pty_exited_note {
  static constexpr std::string_view name = "pty.exited", summary = "The leader on a followed terminal has ended.";
  pty_exited_note() = default;
  std::string pty;
  exit_info exit;
  void describe(visitor& v) {
    v.req("pty", pty, "Its handle.");
    v.req("exit", exit, "How it ended.");
  }
};
struct pty_closed_note {
  static constexpr std::string_view name = "pty.closed", summary = "Nothing more comes from a followed terminal.";
  pty_closed_note() = default;
  std::string pty;
  void describe(visitor& v) { v.req("pty", pty, "Its handle."); }
};

}  // namespace sbx::proto
