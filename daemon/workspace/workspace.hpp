// One or more directories with one sandbox around their processes, shared by the sessions that opened them.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/async/event.hpp"
#include "daemon/async/task_group.hpp"
#include "daemon/fs/root.hpp"
#include "daemon/process/process_tree.hpp"
#include "daemon/process/survivor_set.hpp"
#include "daemon/sandbox/backend.hpp"
#include "daemon/workspace/copies.hpp"
#include "daemon/workspace/settings.hpp"

namespace sbx::workspace {

enum class sandbox_state { idle, starting, running, lost };

// Lives on the registry's strand: all members are called there.
class workspace : public std::enable_shared_from_this<workspace> {
 public:
  workspace(std::string id, async::strand strand, std::shared_ptr<sandbox::backend> backend, sandbox::spec spec,
            std::shared_ptr<const fs::root_set> roots, profile walls, std::string identity);

  const std::string& id() const { return id_; }
  const std::string& identity() const { return identity_; }
  const sandbox::spec& spec() const { return spec_; }
  const profile& walls() const { return walls_; }
  const std::shared_ptr<const fs::root_set>& roots() const { return roots_; }

  // The sandbox, started when there is none. Single-flight: however many ask at once, one is started. Errors: those of
  // backend::launch; root_gone; sandbox_lost when the workspace is being closed.
  async::task<result<std::shared_ptr<sandbox::sandbox>>> ensure_started(sandbox::progress_fn progress);

  // Ends every process (outcome stopped); answers when the sandbox is gone. The next use starts a fresh one.
  async::task<void> restart();
  // For good: like restart, and nothing starts again.
  async::task<void> end();

  // Processes that run in it, so that they can be ended as stopped before the sandbox goes. `session` is whose they
  // are.
  void track(const std::string& session, std::shared_ptr<process::process_tree> tree, std::vector<std::string> argv,
             std::string handle = {});
  struct tracked {
    tracked() = default;
    std::string session, handle;
    std::vector<std::string> argv;
  };
  // What of this session's is known of the process tree with that leader.
  std::optional<tracked> find_tracked(const std::string& session, pid_t leader) const;
  // Ends what a session runs here and has no handle of its own (exec.run in flight, survivors stay).
  async::task<void> stop_session(std::string session);

  // Program and options that a command line is given to: the profile's, else bash -c, else sh -c where the sandbox has
  // no bash (looked for once a sandbox, in its own PATH).
  async::task<std::vector<std::string>> shell(std::shared_ptr<sandbox::sandbox> box);

  process::survivor_set& survivors() { return survivors_; }

  sandbox_state state() const;
  const std::shared_ptr<sandbox::sandbox>& box() const { return box_; }
  std::int64_t generation() const { return generation_; }
  std::optional<std::chrono::system_clock::time_point> started_at() const { return started_at_; }

  void own(std::shared_ptr<owned_copy> copy, bool keep);
  // The copy that is to be removed now that the workspace has ended, if there is one.
  std::shared_ptr<owned_copy> take_copy();

  // How many sessions hold it.
  int holds = 0;

 private:
  struct entry {
    entry() = default;
    std::weak_ptr<process::process_tree> tree;
    tracked what;
  };
  async::task<void> launch(sandbox::progress_fn progress);
  async::task<void> stop_trees(std::string only_session);
  async::task<void> end_sandbox();
  void forget_ended();

  std::string id_;
  async::strand strand_;
  std::shared_ptr<sandbox::backend> backend_;
  sandbox::spec spec_;
  std::shared_ptr<const fs::root_set> roots_;
  profile walls_;
  std::string identity_;
  std::shared_ptr<sandbox::sandbox> box_;
  std::int64_t generation_ = 0;
  std::optional<std::chrono::system_clock::time_point> started_at_;
  bool starting_ = false, ending_ = false, ended_ = false;
  std::optional<error> start_failure_;
  async::signal changed_;
  std::optional<bool> has_bash_;
  std::vector<entry> tracked_;
  process::survivor_set survivors_;
  std::shared_ptr<owned_copy> copy_;
  bool keep_copy_ = false;
  async::task_group tasks_;
};

}  // namespace sbx::workspace
