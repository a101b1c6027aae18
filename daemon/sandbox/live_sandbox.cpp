#include "daemon/sandbox/live_sandbox.hpp"

#include "daemon/async/run.hpp"
#include "daemon/sandbox/terminal.hpp"
#include "daemon/sandbox/unavailable.hpp"

namespace sbx::sandbox {
namespace {

using namespace std::chrono_literals;

constexpr auto end_grace = 5s;  // for init to end by itself once its control socket has ended

// What the watcher shares with the sandbox's holders.
struct core {
  core(async::asio::io_context& context, start_request request)
      : link(context, std::move(request.control), std::move(request.link)),
        body(std::move(request.body)),
        view(std::move(request.view)),
        terminal_owner(request.terminal_owner) {}

  init_link link;
  std::shared_ptr<init_body> body;
  inside_view view;
  std::optional<uid_t> terminal_owner;
  async::event over;    // it is ending: init's word or init itself ended, or it was told to
  async::event ended;   // nothing is left
  std::string because;  // set before `ended`
};

// Kills the sandbox on the way out unless it was told to keep it.
class killing_guard {
 public:
  explicit killing_guard(std::shared_ptr<core> what) : what_(std::move(what)) {}
  killing_guard(const killing_guard&) = delete;
  ~killing_guard() {
    if (!what_) return;
    what_->link.end();
    what_->body->kill();
  }
  void keep() { what_.reset(); }

 private:
  std::shared_ptr<core> what_;
};

async::task<void> tell_dead(std::shared_ptr<core> what) {
  auto dying = what->link.wait_dead();
  co_await std::move(dying);
  what->over.set();
}

async::task<void> tell_failed(std::shared_ptr<core> what) {
  auto failing = what->body->wait_failed();
  co_await std::move(failing);
  what->over.set();
}

// From the first sign of the end, or the order to end, until nothing is left.
async::task<void> watch(std::shared_ptr<core> what) {
  co_await async::ignore_cancellation();
  async::task_group signs(co_await async::asio::this_coro::executor);
  signs.spawn("watching a control socket", tell_dead(what));
  signs.spawn("watching an init", tell_failed(what));
  co_await what->over.wait();
  what->because = what->link.dead_because();
  what->link.end();
  auto going = what->body->wait_gone();
  auto gone = async::with_deadline(std::move(going), end_grace);
  if (!co_await std::move(gone)) {
    what->body->kill();
    auto killed = what->body->wait_gone();
    co_await std::move(killed);
  }
  signs.cancel();
  co_await signs.join();
  if (what->because.empty()) what->because = what->body->last_words();
  what->link.confirm_gone();
  what->ended.set();
}

class live_sandbox final : public sandbox {
 public:
  explicit live_sandbox(std::shared_ptr<core> what) : core_(std::move(what)) {}
  ~live_sandbox() override { live_sandbox::end(); }

  async::task<result<std::unique_ptr<leash>>> open_leash(async::strand strand) override {
    return core_->link.open_leash(std::move(strand));
  }
  bool alive() const override { return core_->link.alive() && !core_->over.is_set(); }
  async::task<void> wait_ended() override {
    auto keep = core_;
    co_await keep->ended.wait();
  }
  std::string ended_because() const override {
    return core_->ended.is_set() ? core_->because : core_->link.dead_because();
  }
  void end() override {
    core_->link.end();
    core_->over.set();
  }
  async::task<result<std::vector<process_info>>> processes() override { return core_->link.processes(); }
  result<terminal_pair> open_terminal() override {
    return open_terminal_in(core_->link.devpts(), core_->terminal_owner);
  }
  bool took_oom_kill() override { return core_->body->took_oom_kill(); }
  const std::vector<std::string>& base_env() const override { return core_->view.base_env; }
  std::string home() const override { return core_->view.home; }
  std::string user_name() const override { return core_->view.user_name; }
  std::optional<pid_t> host_pid() const override { return core_->body->host_pid(); }
  std::optional<std::string> container() const override { return core_->body->container(); }

 private:
  std::shared_ptr<core> core_;
};

}  // namespace

async::task<result<std::shared_ptr<sandbox>>> start_sandbox(async::asio::io_context& context, async::task_group& tasks,
                                                            start_request request) {
  auto what = std::make_shared<core>(context, std::move(request));
  killing_guard guard(what);
  auto getting_ready = what->link.ready();
  auto ready = co_await std::move(getting_ready);
  if (!ready) {
    what->link.end();
    what->body->kill();
    auto going = what->body->wait_gone();
    auto gone = async::with_deadline(std::move(going), end_grace);
    co_await std::move(gone);
    co_return fail(std::move(ready.error()));
  }
  guard.keep();
  tasks.spawn("watching a sandbox", watch(what));
  co_return std::make_shared<live_sandbox>(what);
}

}  // namespace sbx::sandbox
