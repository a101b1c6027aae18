// All sessions and workspaces of the daemon, on one strand.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/async/blocking_pool.hpp"
#include "daemon/async/task_group.hpp"
#include "daemon/sandbox/factory.hpp"
#include "daemon/workspace/open_request.hpp"
#include "daemon/workspace/session.hpp"

namespace sbx::workspace {

struct registry_options {
  registry_options() = default;
  settings known;
  daemon_paths paths;
  mode_t umask = 022;
};

// Every member is called on strand(); answers are values and shared pointers.
class registry {
 public:
  registry(async::asio::io_context& context, async::blocking_pool& pool, sandbox::backend_set backends,
           registry_options options);
  ~registry();

  const async::strand& strand() const { return strand_; }
  const settings& known() const { return options_.known; }
  // New settings hold for what is opened from now on.
  void change_settings(settings known);

  // --- sessions ---
  // limit when there are too many. detach_ttl absent: a private session.
  result<std::shared_ptr<session>> open_session(std::optional<std::string> name,
                                                std::optional<std::chrono::milliseconds> detach_ttl);
  result<std::shared_ptr<session>> find_session(const std::string& id);
  void attach(const std::shared_ptr<session>& to);
  void detach(const std::shared_ptr<session>& from);
  // Ends and forgets all it holds; answers the handles that ended, workspaces it held last included.
  async::task<std::vector<std::string>> close_session(std::shared_ptr<session> ending);

  // --- workspaces ---
  async::task<result<hold>> open_workspace(std::shared_ptr<session> by, open_request request,
                                           sandbox::progress_fn progress);
  struct closed_workspace {
    closed_workspace() = default;
    bool ended = false, removed = false;
  };
  async::task<result<closed_workspace>> close_workspace(std::shared_ptr<session> by, std::string id);

  // Adds a handle; limit {limit, max} when the session has too many active ones of its kind.
  result<void> add_handle(session& to, std::shared_ptr<handle> made, std::size_t active_max);

  struct gauges {
    gauges() = default;
    std::size_t sessions = 0, workspaces = 0, sandboxes = 0, jobs = 0, ptys = 0, shells = 0, watches = 0;
  };
  gauges count() const;

  // The daemon stops: nothing new is opened, everything ends. Answers when all sandboxes are gone.
  async::task<void> shut_down();

 private:
  async::task<result<std::shared_ptr<workspace>>> find_or_make(open_request request, sandbox::progress_fn progress);
  result<std::shared_ptr<workspace>> find_same(const prepared& wanted);
  async::task<bool> release(std::shared_ptr<workspace> space, std::string session, bool& removed);
  void arm_ttl(const std::shared_ptr<session>& idle);

  async::asio::io_context& context_;
  async::strand strand_;
  async::blocking_pool& pool_;
  sandbox::backend_set backends_;
  registry_options options_;
  std::map<std::string, std::shared_ptr<session>> sessions_;
  std::map<std::string, std::shared_ptr<workspace>> workspaces_;
  bool shutting_down_ = false;
  async::task_group tasks_;
};

}  // namespace sbx::workspace
