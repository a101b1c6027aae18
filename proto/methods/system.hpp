// system.* and rpc.*
#pragma once

#include "proto/types.hpp"

namespace sbx::proto {

struct ping_result {
  ping_result() = default;
  bool pong = true;
  void describe(visitor& v) { v.req("pong", pong, "Always true."); }
};

struct backend_info {
  backend_info() = default;
  bool available = false;
  std::optional<std::string> cause, remedy, version;
  void describe(visitor& v) {
    v.req("available", available, "Whether it can start a sandbox here.");
    v.req("cause", cause, "Why not, or null.");
    v.req("remedy", remedy, "What would help, or null.");
    v.req("version", version, "Version of the program behind it, or null.");
  }
};

struct feature_info {
  feature_info() = default;
  std::optional<bool> available, enforced;
  std::optional<std::string> reason;
  void describe(visitor& v) {
    v.opt("available", available, "Whether this machine has it.");
    v.opt("enforced", enforced, "Whether it is put into effect.");
    v.req("reason", reason, "Why not, or null.");
  }
};

struct info_result {
  info_result() = default;
  std::string version;
  std::int64_t protocol = 1, pid = 0, uptime_ms = 0;
  std::map<std::string, backend_info> backends;
  std::map<std::string, feature_info> features;
  void describe(visitor& v) {
    v.req("version", version, "Of the daemon.");
    v.req("protocol", protocol, "Version of this contract.");
    v.req("pid", pid, "Of the daemon.");
    v.req("uptime_ms", uptime_ms, "Since it started.");
    v.req("backends", backends, "What can start sandboxes, by name.");
    v.req("features", features, "What the kernel and this machine offer, by name.");
  }
};

enum class check_status { ok, warn, fail };
template <>
struct words<check_status> {
  static constexpr std::string_view list[] = {"ok", "warn", "fail"};
};

struct doctor_check {
  doctor_check() = default;
  std::string name;
  check_status status = check_status::ok;
  std::string detail;
  std::optional<std::string> remedy;
  void describe(visitor& v) {
    v.req("name", name, "What was looked at.");
    v.req("status", status, "How it stands.");
    v.req("detail", detail, "What was found.");
    v.req("remedy", remedy, "What would help, or null.");
  }
};

struct doctor_result {
  doctor_result() = default;
  std::vector<doctor_check> checks;
  void describe(visitor& v) { v.req("checks", checks, "One entry for each thing looked at."); }
};

struct stats_result {
  stats_result() = default;
  std::int64_t connections = 0, connections_total = 0, requests_total = 0, sessions = 0, workspaces = 0, sandboxes = 0;
  std::int64_t jobs = 0, ptys = 0, shells = 0, watches = 0, processes_started = 0, bytes_drained = 0, rss_bytes = 0,
               fds = 0;
  std::int64_t uptime_ms = 0;
  void describe(visitor& v) {
    v.req("connections", connections, "Open now.");
    v.req("connections_total", connections_total, "Accepted since the start.");
    v.req("requests_total", requests_total, "Calls taken since the start.");
    v.req("sessions", sessions, "Living now.");
    v.req("workspaces", workspaces, "Open now.");
    v.req("sandboxes", sandboxes, "Running now.");
    v.req("jobs", jobs, "Kept now.");
    v.req("ptys", ptys, "Kept now.");
    v.req("shells", shells, "Open now.");
    v.req("watches", watches, "Open now.");
    v.req("processes_started", processes_started, "Commands started since the start.");
    v.req("bytes_drained", bytes_drained, "Output taken from commands since the start.");
    v.req("rss_bytes", rss_bytes, "Resident size of the daemon.");
    v.req("fds", fds, "Open descriptors of the daemon.");
    v.req("uptime_ms", uptime_ms, "Since it started.");
  }
};

struct cancel_params {
  cancel_params() = default;
  request_id id;
  void describe(visitor& v) { v.req("id", id, "Of a request in flight on this connection."); }
};
struct cancel_result {
  cancel_result() = default;
  bool cancelled = false;
  void describe(visitor& v) { v.req("cancelled", cancelled, "False when no such request was in flight."); }
};

struct system_ping {
  static constexpr std::string_view name = "system.ping", summary = "Answers at once.";
  using params = nothing;
  using result = ping_result;
};
struct system_info {
  static constexpr std::string_view name = "system.info", summary = "What this daemon is and what it can do here.";
  using params = nothing;
  using result = info_result;
};
struct system_doctor {
  static constexpr std::string_view name = "system.doctor",
                                    summary = "Looks for what would keep sandboxes from working.";
  using params = nothing;
  using result = doctor_result;
};
struct system_stats {
  static constexpr std::string_view name = "system.stats", summary = "Counters and gauges.";
  using params = nothing;
  using result = stats_result;
};
struct rpc_discover {
  static constexpr std::string_view name = "rpc.discover", summary = "This contract as an OpenRPC document.";
  using params = nothing;
  using result = raw_json;
};
struct rpc_cancel {
  static constexpr std::string_view name = "rpc.cancel", summary = "Ends a request in flight on this connection.";
  using params = cancel_params;
  using result = cancel_result;
};

// Notification $/progress.
struct progress_note {
  static constexpr std::string_view name = "$/progress", summary = "How far a long request is.";
  progress_note() = default;
  request_id id;
  std::string phase, message;
  std::optional<std::int64_t> done, total;
  void describe(visitor& v) {
    v.req("id", id, "Of the request.");
    v.req("phase", phase, "What is being done.");
    v.req("message", message, "The same for people.");
    v.opt("done", done, "So much of it.");
    v.opt("total", total, "Of so much.");
  }
};

}  // namespace sbx::proto
