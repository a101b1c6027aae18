// policy.*
#pragma once

#include "proto/types.hpp"

namespace sbx::proto {

struct policy_register_params : session_params {
  policy_register_params() = default;
  std::vector<std::string> methods;
  bool all_sessions = false;
  std::int64_t timeout_ms = 0;
  std::optional<std::string> authorizer;
  void describe(visitor& v) {
    session_params::describe(v);
    v.req("methods", methods, "Globs of the methods asked about.", items(1, 256));
    v.opt("all_sessions", all_sessions, "Every session, if the configuration allows it.");
    v.req("timeout_ms", timeout_ms, "No answer in that time denies.", between(1, 3'600'000));
    v.opt("authorizer", authorizer, "Registers this one again.");
    v.at_most_one({"session", "all_sessions"});
  }
};
struct policy_register_result {
  policy_register_result() = default;
  std::string authorizer;
  void describe(visitor& v) { v.req("authorizer", authorizer, "Its handle."); }
};
struct policy_unregister_params {
  policy_unregister_params() = default;
  std::string authorizer;
  void describe(visitor& v) { v.req("authorizer", authorizer, "Its handle."); }
};

// The daemon's own request to an authorizer's connection.
struct policy_authorize_params {
  policy_authorize_params() = default;
  std::string method;
  std::optional<std::string> session, workspace;
  std::optional<std::string> path, to;
  std::optional<std::vector<c_bytes>> argv;
  std::optional<std::string> command;
  std::optional<c_bytes> cwd;
  std::optional<std::string> handle;
  void describe(visitor& v) {
    v.req("method", method, "What is to be done.");
    v.opt("session", session, "By whom.");
    v.opt("workspace", workspace, "Where.");
    v.file_name("path", path, "Absolute, after links.");
    v.file_name("to", to, "Absolute, after links.");
    v.opt("argv", argv, "The program and its arguments.");
    v.opt("command", command, "The line for the shell.");
    v.opt("cwd", cwd, "Where the command would run.");
    v.opt("handle", handle, "Job, pty or shell it is done to.");
  }
};
struct policy_authorize_result {
  policy_authorize_result() = default;
  bool allow = false;
  std::optional<std::string> reason;
  void describe(visitor& v) {
    v.req("allow", allow, "False vetoes.");
    v.opt("reason", reason, "Told to whoever asked.");
  }
};

struct policy_register {
  static constexpr std::string_view name = "policy.register", summary = "Makes this connection an authorizer.";
  using params = policy_register_params;
  using result = policy_register_result;
};
struct policy_unregister {
  static constexpr std::string_view name = "policy.unregister", summary = "Ends an authorizer.";
  using params = policy_unregister_params;
  using result = nothing;
};
struct policy_authorize {
  static constexpr std::string_view name = "policy.authorize", summary = "Asked of an authorizer: may this be done?";
  using params = policy_authorize_params;
  using result = policy_authorize_result;
};

}  // namespace sbx::proto
