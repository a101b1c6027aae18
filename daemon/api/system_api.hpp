// system.* and rpc.*: what the daemon says of itself.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/async/task.hpp"
#include "daemon/rpc/method_table.hpp"
#include "daemon/rpc/services.hpp"
#include "daemon/sandbox/factory.hpp"
#include "daemon/sys/probe.hpp"
#include "proto/methods/system.hpp"

namespace sbx::api {

// Where the answers come from. Outlives the table.
struct system_sources {
  system_sources() = default;
  std::shared_ptr<rpc::services> rpc;
  sandbox::backend_set backends;
  std::vector<sys::feature> features;
  std::string socket_path;
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
  std::function<async::task<void>(proto::stats_result&)> domain_stats;  // sessions, workspaces, jobs, …
};

void register_system_methods(rpc::method_table& table, const std::shared_ptr<const system_sources>& sources);

}  // namespace sbx::api
