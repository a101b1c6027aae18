// What belongs together across calls: handles and holds on workspaces.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/async/event.hpp"
#include "daemon/process/command.hpp"
#include "daemon/workspace/handle.hpp"
#include "daemon/workspace/workspace.hpp"

namespace sbx::workspace {

// A session's own view of a workspace.
struct hold {
  hold() = default;
  std::shared_ptr<workspace> space;
  process::env_changes env, profile_env;  // the call's, over the profile's
  std::optional<std::string> name;
  std::string profile;
};

// What a key given at a job's start stands for.
struct keyed_start {
  keyed_start() = default;
  std::string parameters;  // the whole call, so that another one with the same key is told apart
  std::string handle_id;   // once started
  std::weak_ptr<handle> job;
  std::optional<error> failure;
  async::event settled;
  std::optional<std::chrono::steady_clock::time_point> ended_at;  // an hour later the key is forgotten
};

// Lives on the registry's strand.
class session {
 public:
  session(std::string id, async::strand strand) : id(std::move(id)), ttl_timer(strand) {}

  const std::string id;
  std::optional<std::string> name;
  // Absent: a connection's private session, which ends with it.
  std::optional<std::chrono::milliseconds> detach_ttl;
  int attached = 0;
  bool ending = false;
  std::map<std::string, hold> holds;                         // by workspace id
  std::map<std::string, std::shared_ptr<handle>> handles;    // by handle id
  std::map<std::string, std::shared_ptr<keyed_start>> keys;  // of jobs
  async::asio::steady_timer ttl_timer;

  // no_such_handle unless this session holds it.
  result<hold*> find_hold(const std::string& workspace);
  result<std::shared_ptr<handle>> find_handle(handle_kind kind, const std::string& id) const;
  std::size_t count_active(handle_kind kind) const;
};

}  // namespace sbx::workspace
