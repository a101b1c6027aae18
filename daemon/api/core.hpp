// What the methods of all families stand on: the domain, and what is kept for one connection.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "daemon/api/authorizers.hpp"
#include "daemon/async/run.hpp"
#include "daemon/rpc/call_context.hpp"
#include "daemon/rpc/method_table.hpp"
#include "daemon/workspace/registry.hpp"
#include "proto/methods/system.hpp"

namespace sbx::api {

// A command that an exec.run in flight has, or will have, for exec.signal. Lives on the connection's strand.
struct running_exec {
  running_exec() = default;
  std::function<void(int, sandbox::signal_target)> signal;      // once there is something to signal
  std::vector<std::pair<int, sandbox::signal_target>> waiting;  // signals that came before
};

struct connection_data : rpc::connection_state {
  // On the registry's strand. `own` is the private session, made at first use.
  std::shared_ptr<workspace::session> own, attached;
  bool closed = false;
  // On the connection's strand.
  std::map<proto::request_id, std::shared_ptr<running_exec>> execs;
  std::map<std::string, async::task_group::handle> followers;  // by job or pty
};

// Where a call acts.
struct place {
  place() = default;
  std::shared_ptr<workspace::session> session;
  workspace::hold hold;      // of calls that name a workspace
  authorizers::list to_ask;  // whoever has a say in it; mostly nobody
};

// Outlives the method table and every connection.
class core {
 public:
  core(async::asio::io_context& context, async::blocking_pool& pool, workspace::registry& registry, mode_t umask);

  async::asio::io_context& context;
  async::blocking_pool& pool;
  workspace::registry& registry;
  const mode_t umask;
  authorizers policy;  // on the registry's strand
  std::atomic<std::int64_t> processes_started{0}, bytes_drained{0};

  static std::shared_ptr<connection_data> data_of(rpc::call_context& context);

  // On the registry's strand: the session named, or the connection's.
  result<std::shared_ptr<workspace::session>> session_of(connection_data& connection,
                                                         const std::optional<std::string>& named);

  // The session of a call, and its workspace where it names one; no_such_handle. From the connection's strand.
  async::task<result<place>> find_place(rpc::call_context& context, std::string_view method,
                                        std::optional<std::string> session, std::optional<std::string> workspace);
  // A job, pty, shell or watch of the call's session.
  struct found_handle {
    found_handle() = default;
    place where;
    std::shared_ptr<workspace::handle> handle;
  };
  async::task<result<found_handle>> find_handle(rpc::call_context& context, std::string_view method,
                                                std::optional<std::string> session, workspace::handle_kind kind,
                                                std::string id, std::optional<std::string> command = std::nullopt);

  async::strand make_strand();
  // The largest file that fs.edit takes; from any strand.
  std::int64_t edit_bytes_max() const { return edit_bytes_max_; }
  // How much output a job keeps that does not say; from any strand.
  std::size_t retain_bytes() const { return retain_bytes_; }
  // On the registry's strand: settings for what is opened or done from now on.
  void change_settings(workspace::settings known);
  // What goes on without a call, on the registry's strand.
  async::task_group& tasks() { return tasks_; }

 private:
  std::atomic<std::int64_t> edit_bytes_max_;
  std::atomic<std::size_t> retain_bytes_;
  async::task_group tasks_;
};

// Progress of a long start, told to whoever made the call. Safe to call from any strand, and after the call has ended.
sandbox::progress_fn progress_to(rpc::call_context& context);

// A handler that is a free coroutine over the core.
template <class F>
auto with(core& c, F serve) {
  return [&c, serve](rpc::call_context& context, auto params) { return serve(c, context, std::move(params)); };
}

// What connections mean to sessions.
rpc::connection_hooks connection_hooks(core& c);
// sessions, workspaces, jobs, … for system.stats.
async::task<void> fill_stats(core& c, proto::stats_result& into);

void register_session_methods(core& c, rpc::method_table& table);
void register_workspace_methods(core& c, rpc::method_table& table);
void register_exec_methods(core& c, rpc::method_table& table);
void register_job_methods(core& c, rpc::method_table& table);
void register_pty_methods(core& c, rpc::method_table& table);
void register_shell_methods(core& c, rpc::method_table& table);
void register_fs_methods(core& c, rpc::method_table& table);
void register_policy_methods(core& c, rpc::method_table& table);
// All of the above: everything but system.* and rpc.*.
void register_domain_methods(core& c, rpc::method_table& table);

}  // namespace sbx::api
