// job.*, and what jobs and ptys have in common.
#pragma once

#include "proto/methods/exec.hpp"

namespace sbx::proto {

struct job_params : session_params {
  job_params() = default;
  std::string job;
  void describe(visitor& v) {
    session_params::describe(v);
    v.req("job", job, "Its handle.");
  }
};

enum class job_streams { merged, split };
template <>
struct words<job_streams> {
  static constexpr std::string_view list[] = {"merged", "split"};
};
enum class retain_rule { tail, head };
template <>
struct words<retain_rule> {
  static constexpr std::string_view list[] = {"tail", "head"};
};

struct job_start_params : command_params {
  job_start_params() = default;
  bool keep_stdin = false;
  job_streams streams = job_streams::merged;
  std::optional<std::int64_t> retain_bytes;  // absent: the configuration's, 1 MiB
  retain_rule retain = retain_rule::tail;
  std::optional<std::int64_t> timeout_ms;
  std::optional<std::string> key;
  void describe(visitor& v) {
    command_params::describe(v);
    v.opt("stdin", keep_stdin, "Keeps a pipe for job.write; else its stdin is empty.");
    v.opt("streams", streams, "Both in one log, or stderr in its own.");
    v.opt("retain_bytes", retain_bytes, "How much output is kept (default 1 MiB).", between(1, 1LL << 40));
    v.opt("retain", retain, "Which end of the output is kept.");
    v.opt("timeout_ms", timeout_ms, "Not done by then: the whole tree is ended.", duration_limits);
    v.opt("key", key, "The same again is the same job, never a second start.");
  }
};
struct job_start_result {
  job_start_result() = default;
  std::string job;
  void describe(visitor& v) { v.req("job", job, "Its handle."); }
};

struct job_collect_params : job_params {
  job_collect_params() = default;
  std::int64_t max_bytes = one_mib;
  std::optional<proto::encoding> encoding;
  void describe(visitor& v) {
    job_params::describe(v);
    v.opt("max_bytes", max_bytes, "Of each stream.", max_bytes_limits);
    v.opt("encoding", encoding, "Forces the encoding of the answer's bytes.");
  }
};
struct collected_part {
  collected_part() = default;
  payload content;
  std::int64_t dropped_bytes = 0;
  bool truncated = false, more = false;
  void describe(visitor& v) {
    v.data(content, "What was not collected yet.");
    v.req("dropped_bytes", dropped_bytes, "Lost before they were collected.");
    v.req("truncated", truncated, "Bytes were lost.");
    v.req("more", more, "Bytes are left.");
  }
};
struct job_collect_result : collected_part {
  job_collect_result() = default;
  run_status status = run_status::running;
  std::optional<exit_info> exit;
  std::optional<collected_part> err;
  void describe(visitor& v) {
    v.req("status", status, "Whether the leader has ended.");
    v.req("exit", exit, "How it ended, or null.");
    collected_part::describe(v);
    v.opt("stderr", err, "Of a split job: the same of its other stream.");
  }
};

// *.read without its handle.
struct read_window {
  read_window() = default;
  std::int64_t offset = 0, max_bytes = one_mib;
  std::optional<std::int64_t> wait_ms;
  std::optional<proto::encoding> encoding;
  void describe(visitor& v) {
    v.opt("offset", offset, "Where to begin.", at_least(0));
    v.opt("max_bytes", max_bytes, "At most so many.", max_bytes_limits);
    v.opt("wait_ms", wait_ms, "Answers at the first byte from offset, at the end, or after so long.", duration_limits);
    v.opt("encoding", encoding, "Forces the encoding of the answer's bytes.");
  }
};
struct job_read_params : job_params {
  job_read_params() = default;
  stream_name stream = stream_name::out;
  read_window window;
  void describe(visitor& v) {
    job_params::describe(v);
    v.opt("stream", stream, "Of a split job.");
    window.describe(v);
  }
};
struct log_read_result {
  log_read_result() = default;
  payload content;
  std::int64_t offset = 0, next_offset = 0, lost_bytes = 0;
  bool eof = false;
  run_status status = run_status::running;
  std::optional<exit_info> exit;
  void describe(visitor& v) {
    v.data(content, "The bytes.");
    v.req("offset", offset, "Where they begin.");
    v.req("next_offset", next_offset, "Where the next read begins.");
    v.req("lost_bytes", lost_bytes, "Between the offset asked for and where they begin.");
    v.req("eof", eof, "Closed, and this read reached the end.");
    v.req("status", status, "Whether the leader has ended.");
    v.req("exit", exit, "How it ended, or null.");
  }
};

struct job_follow_params : job_params {
  job_follow_params() = default;
  std::int64_t offset = 0;
  std::optional<proto::encoding> encoding;
  void describe(visitor& v) {
    job_params::describe(v);
    v.opt("offset", offset, "Where to begin, of each stream.", at_least(0));
    v.opt("encoding", encoding, "Forces the encoding of the notifications' bytes.");
  }
};

struct job_wait_params : job_params {
  job_wait_params() = default;
  std::optional<std::int64_t> timeout_ms;
  void describe(visitor& v) {
    job_params::describe(v);
    v.opt("timeout_ms", timeout_ms, "Answers after so long in any case.", duration_limits);
  }
};
struct wait_result {
  wait_result() = default;
  run_status status = run_status::running;
  std::optional<exit_info> exit;
  void describe(visitor& v) {
    v.req("status", status, "Whether the leader has ended.");
    v.req("exit", exit, "How it ended, or null.");
  }
};

struct job_write_params : job_params {
  job_write_params() = default;
  payload content;
  bool eof = false;
  std::optional<std::int64_t> wait_ms;
  void describe(visitor& v) {
    job_params::describe(v);
    v.data(content, "What is written.");
    v.opt("eof", eof, "Closes its stdin after the last byte.");
    v.opt("wait_ms", wait_ms, "Waits so long for room.", duration_limits);
  }
};
struct write_result {
  write_result() = default;
  std::int64_t accepted_bytes = 0;
  void describe(visitor& v) { v.req("accepted_bytes", accepted_bytes, "What was taken; in text whole characters."); }
};

struct job_signal_params : job_params {
  job_signal_params() = default;
  std::string signal;
  signal_target target = signal_target::tree;
  void describe(visitor& v) {
    job_params::describe(v);
    v.req("signal", signal, "Name of the signal, as \"SIGINT\".");
    v.opt("target", target, "Who gets it.");
  }
};

struct job_stop_params : job_params {
  job_stop_params() = default;
  std::optional<std::int64_t> grace_ms;
  void describe(visitor& v) {
    job_params::describe(v);
    v.opt("grace_ms", grace_ms, "Between TERM and KILL; absent: as at its start.", duration_limits);
  }
};

struct job_entry {
  job_entry() = default;
  std::string job;
  std::optional<std::string> command;
  std::optional<std::vector<c_bytes>> argv;
  std::string workspace;
  run_status status = run_status::running;
  std::optional<exit_info> exit;
  std::string started_at;
  std::int64_t total_bytes = 0;
  void describe(visitor& v) {
    v.req("job", job, "Its handle.");
    v.opt("command", command, "What was started, if a line.");
    v.opt("argv", argv, "What was started, if a program.");
    v.req("workspace", workspace, "Where.");
    v.req("status", status, "Whether the leader has ended.");
    v.req("exit", exit, "How it ended, or null.");
    v.req("started_at", started_at, "When, in RFC 3339 UTC.");
    v.req("total_bytes", total_bytes, "Written by it so far.");
  }
};
struct job_list_result {
  job_list_result() = default;
  std::vector<job_entry> jobs;
  void describe(visitor& v) { v.req("jobs", jobs, "This session's."); }
};

struct job_start {
  static constexpr std::string_view name = "job.start", summary = "Starts a command that outlives the call.";
  using params = job_start_params;
  using result = job_start_result;
};
struct job_collect {
  static constexpr std::string_view name = "job.collect", summary = "What was not collected yet; forgets a closed job.";
  using params = job_collect_params;
  using result = job_collect_result;
};
struct job_read {
  static constexpr std::string_view name = "job.read", summary = "Output from an offset; consumes nothing.";
  using params = job_read_params;
  using result = log_read_result;
};
struct job_follow {
  static constexpr std::string_view name = "job.follow", summary = "Sends a job's output to this connection.";
  using params = job_follow_params;
  using result = nothing;
};
struct job_unfollow {
  static constexpr std::string_view name = "job.unfollow", summary = "Ends that.";
  using params = job_params;
  using result = nothing;
};
struct job_wait {
  static constexpr std::string_view name = "job.wait", summary = "Waits for the end.";
  using params = job_wait_params;
  using result = wait_result;
};
struct job_write {
  static constexpr std::string_view name = "job.write", summary = "Writes to a job's stdin.";
  using params = job_write_params;
  using result = write_result;
};
struct job_signal {
  static constexpr std::string_view name = "job.signal", summary = "Signals a job.";
  using params = job_signal_params;
  using result = nothing;
};
struct job_stop {
  static constexpr std::string_view name = "job.stop", summary = "Ends every descendant of a job.";
  using params = job_stop_params;
  using result = wait_result;
};
struct job_list {
  static constexpr std::string_view name = "job.list", summary = "This session's jobs.";
  using params = session_params;
  using result = job_list_result;
};

struct job_output_note {
  static constexpr std::string_view name = "job.output", summary = "Output of a followed job.";
  job_output_note() = default;
  std::string job;
  stream_name stream = stream_name::out;
  std::int64_t offset = 0;
  payload content;
  std::int64_t lost_bytes = 0;
  void describe(visitor& v) {
    v.req("job", job, "Its handle.");
    v.req("stream", stream, "Which stream.");
    v.req("offset", offset, "Where the bytes begin.");
    v.data(content, "The bytes.");
    v.req("lost_bytes", lost_bytes, "Not kept between the last notification and this one.");
  }
};
struct job_exited_note {
  static constexpr std::string_view name = "job.exited", summary = "A followed job's leader has ended.";
  job_exited_note() = default;
  std::string job;
  exit_info exit;
  void describe(visitor& v) {
    v.req("job", job, "Its handle.");
    v.req("exit", exit, "How it ended.");
  }
};
struct job_closed_note {
  static constexpr std::string_view name = "job.closed", summary = "Nothing more comes from a followed job.";
  job_closed_note() = default;
  std::string job;
  void describe(visitor& v) { v.req("job", job, "Its handle."); }
};

}  // namespace sbx::proto
