#include "daemon/workspace/workspace.hpp"

#include <boost/asio/dispatch.hpp>

#include "daemon/async/run.hpp"
#include "daemon/process/program_probe.hpp"

namespace sbx::workspace {

using namespace std::chrono_literals;

namespace {

constexpr auto stop_limit = 3s;  // for trees to end as stopped before their sandbox is taken from under them

error closing_error() {
  return error(error_kind::sandbox_lost, "the workspace is being closed").with("retryable", true);
}

async::task<void> stop_tree(std::shared_ptr<process::process_tree> tree) {
  tree->kill(process::outcome::stopped);
  auto closing = tree->wait_closed();
  co_await std::move(closing);
}

}  // namespace

workspace::workspace(std::string id, async::strand strand, std::shared_ptr<sandbox::backend> backend,
                     sandbox::spec spec, std::shared_ptr<const fs::root_set> roots, profile walls, std::string identity)
    : id_(std::move(id)),
      strand_(strand),
      backend_(std::move(backend)),
      spec_(std::move(spec)),
      roots_(std::move(roots)),
      walls_(std::move(walls)),
      identity_(std::move(identity)),
      tasks_(strand) {}

sandbox_state workspace::state() const {
  if (starting_) return sandbox_state::starting;
  if (!box_) return sandbox_state::idle;
  return box_->alive() ? sandbox_state::running : sandbox_state::lost;
}

async::task<result<std::shared_ptr<sandbox::sandbox>>> workspace::ensure_started(sandbox::progress_fn progress) {
  const auto self = shared_from_this();
  for (;;) {
    const auto seen = changed_.generation();
    if (ended_) co_return fail(closing_error());
    if (!ending_ && !starting_) {
      if (box_ && box_->alive()) co_return box_;
      if (auto present = roots_->check_present(); !present) co_return fail(present.error());
      starting_ = true;
      start_failure_.reset();
      // In a task of its own: who asked first may be cancelled, others wait for the same start.
      tasks_.spawn("starting a sandbox", launch(std::move(progress)));
    }
    auto waiting = changed_.wait_past(seen);
    co_await std::move(waiting);
    if (!starting_ && start_failure_) co_return fail(*start_failure_);
  }
}

async::task<void> workspace::launch(sandbox::progress_fn progress) {
  const auto self = shared_from_this();
  auto old = std::move(box_);
  if (old) {
    auto gone = old->wait_ended();
    co_await std::move(gone);
  }
  auto launching = backend_->launch(spec_, std::move(progress));
  auto made = co_await std::move(launching);
  starting_ = false;
  if (made) {
    box_ = std::move(*made);
    ++generation_;
    has_bash_.reset();
    started_at_ = std::chrono::system_clock::now();
  } else {
    start_failure_ = made.error();
  }
  changed_.notify_all();
}

async::task<std::vector<std::string>> workspace::shell(std::shared_ptr<sandbox::sandbox> box) {
  if (!walls_.shell.empty()) co_return walls_.shell;
  const auto self = shared_from_this();
  if (!has_bash_) {
    auto looking = process::has_program(std::move(box), strand_, "bash");
    has_bash_ = co_await std::move(looking);
  }
  std::vector<std::string> argv{*has_bash_ ? "bash" : "sh", "-c", "--"};  // a line may begin with a dash
  co_return argv;
}

void workspace::track(const std::string& session, std::shared_ptr<process::process_tree> tree,
                      std::vector<std::string> argv, std::string handle) {
  forget_ended();
  entry made;
  made.tree = tree;
  made.what.session = session;
  made.what.handle = std::move(handle);
  made.what.argv = std::move(argv);
  tracked_.push_back(std::move(made));
}

void workspace::forget_ended() {
  // Amortised: a list of thousands is not walked for every command.
  if (tracked_.size() < 64 || (tracked_.size() & (tracked_.size() - 1)) != 0) return;
  std::erase_if(tracked_, [](const entry& known) { return known.tree.expired(); });
}

std::optional<workspace::tracked> workspace::find_tracked(const std::string& session, pid_t leader) const {
  for (const auto& known : tracked_) {
    const auto tree = known.tree.lock();
    if (tree && tree->leader() == leader && known.what.session == session) return known.what;
  }
  return std::nullopt;
}

// All at once: each tree is killed on its own strand, then their ends are awaited.
async::task<void> workspace::stop_trees(std::string only_session) {
  std::vector<std::shared_ptr<process::process_tree>> trees;
  for (const auto& known : tracked_)
    if (auto tree = known.tree.lock();
        tree && (only_session.empty() || (known.what.session == only_session && !tree->finished())))
      trees.push_back(std::move(tree));
  for (const auto& tree : trees)
    async::asio::dispatch(tree->strand(), [tree] { tree->kill(process::outcome::stopped); });
  for (const auto& tree : trees) {
    auto stopping = async::on(tree->strand(), stop_tree(tree));
    auto limited = async::with_deadline(std::move(stopping), stop_limit);
    co_await std::move(limited);
  }
}

async::task<void> workspace::stop_session(std::string session) {
  const auto self = shared_from_this();
  auto stopping = stop_trees(std::move(session));
  co_await std::move(stopping);
}

async::task<void> workspace::end_sandbox() {
  while (starting_ || ending_) {
    auto waiting = changed_.wait();
    co_await std::move(waiting);
  }
  if (!box_) co_return;
  ending_ = true;
  auto stopping = stop_trees({});
  co_await std::move(stopping);
  const auto box = std::move(box_);
  box->end();
  auto gone = box->wait_ended();
  co_await std::move(gone);
  ending_ = false;
  changed_.notify_all();
}

async::task<void> workspace::restart() {
  const auto self = shared_from_this();
  auto ending = end_sandbox();
  co_await std::move(ending);
}

async::task<void> workspace::end() {
  const auto self = shared_from_this();
  ended_ = true;
  changed_.notify_all();
  auto ending = end_sandbox();
  co_await std::move(ending);
}

std::shared_ptr<owned_copy> workspace::take_copy() {
  return keep_copy_ ? nullptr : std::move(copy_);
}

void workspace::own(std::shared_ptr<owned_copy> copy, bool keep) {
  copy_ = std::move(copy);
  keep_copy_ = keep;
  if (keep) copy_->keep();
}

}  // namespace sbx::workspace
