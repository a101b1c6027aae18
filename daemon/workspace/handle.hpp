// Something a session holds besides workspaces: a job, a pty, a shell, a watch.
#pragma once

#include <string>

#include "daemon/async/task.hpp"

namespace sbx::workspace {

enum class handle_kind { job, pty, shell, watch };

// Shared by the session's table and by calls in flight. The members may be called from any strand.
class handle {
 public:
  handle(handle_kind kind, std::string id, std::string workspace)
      : kind_(kind), id_(std::move(id)), workspace_(std::move(workspace)) {}
  virtual ~handle() = default;

  // Ends what it stands for (outcome stopped) and answers when nothing of it runs any more. Repeatable.
  virtual async::task<void> end() = 0;
  // True while it counts against the session's limit of its kind.
  virtual bool active() const = 0;

  handle_kind kind() const { return kind_; }
  const std::string& id() const { return id_; }
  const std::string& workspace() const { return workspace_; }

 private:
  handle_kind kind_;
  std::string id_, workspace_;
};

}  // namespace sbx::workspace
