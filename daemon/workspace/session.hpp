// What belongs together across calls: handles and holds on workspaces.
#pragma once

#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/process/command.hpp"
#include "daemon/workspace/handle.hpp"
#include "daemon/workspace/workspace.hpp"

namespace sbx::workspace {

// A session's own view of a workspace.
struct hold {
  hold() = default;
  std::shared_ptr<workspace> space;
  process::env_changes env;
  std::optional<std::string> name;
  std::string profile;
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
  std::map<std::string, hold> holds;                          // by workspace id
  std::map<std::string, std::shared_ptr<handle>> handles;     // by handle id
  async::asio::steady_timer ttl_timer;

  // no_such_handle unless this session holds it.
  result<hold*> find_hold(const std::string& workspace);
  result<std::shared_ptr<handle>> find_handle(handle_kind kind, const std::string& id) const;
  std::size_t count_active(handle_kind kind) const;
};

}  // namespace sbx::workspace
