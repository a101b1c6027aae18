// Connections that have a veto over what others do.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/rpc/peer.hpp"
#include "daemon/workspace/session.hpp"
#include "proto/methods/policy.hpp"

namespace sbx::api {

// Lives on the registry's strand.
class authorizers {
 public:
  struct entry {
    entry() = default;
    std::string id;
    std::vector<std::string> methods;           // globs
    std::weak_ptr<workspace::session> session;  // unused when all_sessions
    bool all_sessions = false;
    std::chrono::milliseconds timeout{0};
    std::shared_ptr<rpc::peer> connection;  // closed: denies until registered again
  };
  using list = std::vector<std::shared_ptr<const entry>>;

  // A fresh one, or one that is there again under its own handle (for what it was before, when `made` names neither a
  // session nor all of them); no_such_handle, limit.
  result<std::string> add(entry made, const std::optional<std::string>& again);
  result<void> remove(const std::string& id);
  // Who is to be asked before `method` in this session by this connection.
  list matching(std::string_view method, const std::shared_ptr<workspace::session>& session, std::uint64_t connection);

 private:
  void forget_ended();
  std::map<std::string, std::shared_ptr<const entry>> entries_;
};

// Asks all of them, one after the other. denied {reason} at the first that does not allow it, or not in time, or is
// gone.
async::task<result<void>> ask(authorizers::list who, proto::policy_authorize_params what);

}  // namespace sbx::api
