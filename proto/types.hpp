// Wire types that several method families share.
#pragma once

#include <variant>

#include "proto/fields.hpp"

namespace sbx::proto {

constexpr std::int64_t one_mib = 1 << 20;
constexpr limits max_bytes_limits = between(4, 4 * one_mib);
constexpr limits duration_limits = between(0, 315'360'000'000);  // ten years in ms: safe in nanoseconds too
constexpr limits list_limit = between(1, 10'000);

// The id of a request, kept exactly: null, an integer of up to unsigned 64 bits, or a string.
struct request_id {
  request_id() = default;
  explicit request_id(std::int64_t number) : value(number) {}
  explicit request_id(std::uint64_t number) : value(number) {}
  explicit request_id(std::string text) : value(std::move(text)) {}
  bool operator==(const request_id&) const = default;
  auto operator<=>(const request_id&) const = default;
  bool is_null() const { return value.index() == 0; }
  std::variant<std::monostate, std::int64_t, std::uint64_t, std::string> value;  // uint64 only beyond int64

  static std::optional<fault> decode_json(const json& in, request_id& out);
  static void encode_json(const request_id& id, std::string& out);
  static void schema_json(json& out);
};

// The id as JSON text, exactly as it goes on the wire: 7, "a", null.
std::string to_json_text(const request_id& id);

enum class signal_target { tree, leader };
template <>
struct words<signal_target> {
  static constexpr std::string_view list[] = {"tree", "leader"};
};

enum class outcome { exited, signaled, timed_out, cancelled, stopped, oom_killed, lost };
template <>
struct words<outcome> {
  static constexpr std::string_view list[] = {"exited",  "signaled",   "timed_out", "cancelled",
                                              "stopped", "oom_killed", "lost"};
};

enum class run_status { running, exited };
template <>
struct words<run_status> {
  static constexpr std::string_view list[] = {"running", "exited"};
};

enum class stream_name { out, err };
template <>
struct words<stream_name> {
  static constexpr std::string_view list[] = {"stdout", "stderr"};
};

struct usage {
  usage() = default;
  std::int64_t user_ms = 0, system_ms = 0, max_rss_bytes = 0;
  void describe(visitor& v) {
    v.req("user_ms", user_ms, "Processor time in user mode.");
    v.req("system_ms", system_ms, "Processor time in the kernel.");
    v.req("max_rss_bytes", max_rss_bytes, "Largest resident size.");
  }
};

// How a command ended.
struct exit_info {
  exit_info() = default;
  proto::outcome outcome = outcome::exited;
  std::optional<std::int64_t> code;   // null after lost
  std::optional<std::string> signal;  // "SIGKILL", or null
  std::int64_t duration_ms = 0;
  std::optional<proto::usage> usage;  // null after lost
  void describe(visitor& v) {
    v.req("outcome", outcome, "Why it ended.");
    v.req("code", code, "Exit code, 0 to 255; 128 + n after signal n; null after lost.");
    v.req("signal", signal, "Name of the signal that ended the leader, or null.");
    v.req("duration_ms", duration_ms, "From start to the leader's end.");
    v.req("usage", usage, "What it used; null after lost.");
  }
};

// What every method of the workspace, command and file families takes.
struct session_params {
  session_params() = default;
  std::optional<std::string> session;
  void describe(visitor& v) { v.opt("session", session, "Whose handles are meant; absent: the connection's session."); }
};

struct workspace_params : session_params {
  workspace_params() = default;
  std::string workspace;
  void describe(visitor& v) {
    session_params::describe(v);
    v.req("workspace", workspace, "Handle of the workspace.");
  }
};

using env_map = std::map<std::string, std::optional<c_bytes>>;  // null removes

}  // namespace sbx::proto
