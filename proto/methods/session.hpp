// session.*
#pragma once

#include "proto/types.hpp"

namespace sbx::proto {

struct session_open_params {
  session_open_params() = default;
  std::optional<std::string> name;
  std::int64_t detach_ttl_ms = 86'400'000;
  void describe(visitor& v) {
    v.opt("name", name, "For people.");
    v.opt("detach_ttl_ms", detach_ttl_ms, "How long it lives with no connection attached; each use restarts it.",
          duration_limits);
  }
};
struct session_open_result {
  session_open_result() = default;
  std::string session;
  void describe(visitor& v) { v.req("session", session, "Its handle: whoever holds it may use it."); }
};

struct session_attach_params {
  session_attach_params() = default;
  std::string session;
  void describe(visitor& v) { v.req("session", session, "Becomes this connection's default."); }
};

struct session_close_result {
  session_close_result() = default;
  std::vector<std::string> ended;
  void describe(visitor& v) { v.req("ended", ended, "Handles that ended with it."); }
};

struct session_get_result {
  session_get_result() = default;
  std::string session;
  std::optional<std::string> name;
  std::vector<std::string> handles, workspaces;
  std::int64_t connections = 0;
  std::optional<std::int64_t> detach_ttl_ms;
  void describe(visitor& v) {
    v.req("session", session, "Its handle.");
    v.req("name", name, "As given at open, or null.");
    v.req("handles", handles, "Jobs, ptys, shells and watches it holds.");
    v.req("workspaces", workspaces, "Workspaces it holds.");
    v.req("connections", connections, "How many are attached.");
    v.opt("detach_ttl_ms", detach_ttl_ms, "How long it lives detached; absent for a private session.");
  }
};

struct session_open {
  static constexpr std::string_view name = "session.open", summary = "Makes a session that outlives connections.";
  using params = session_open_params;
  using result = session_open_result;
};
struct session_attach {
  static constexpr std::string_view name = "session.attach", summary = "Makes a session this connection's default.";
  using params = session_attach_params;
  using result = nothing;
  static constexpr bool ordered = true;
};
struct session_close {
  static constexpr std::string_view name = "session.close", summary = "Ends a session and all it holds.";
  using params = session_params;
  using result = session_close_result;
};
struct session_get {
  static constexpr std::string_view name = "session.get", summary = "What a session holds.";
  using params = session_params;
  using result = session_get_result;
};

}  // namespace sbx::proto
