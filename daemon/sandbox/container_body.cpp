#include "daemon/sandbox/container_body.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "daemon/async/run.hpp"

namespace sbx::sandbox {
namespace {

namespace asio = async::asio;
using namespace std::chrono_literals;

constexpr auto removal_limit = 24h;
constexpr auto pause_check = 250ms;  // version 1 groups tell of a freeze to nobody who does not ask

class container_body final : public init_body, public std::enable_shared_from_this<container_body> {
 public:
  container_body(asio::io_context& context, async::task_group& tasks, container_facts facts)
      : context_(context),
        tasks_(tasks),
        facts_(std::move(facts)),
        init_(static_cast<int>(::syscall(SYS_pidfd_open, facts_.pid, 0))),
        group_(sys::cgroup::of(facts_.pid)),
        oom_kills_(group_.oom_kills().value_or(0)) {}

  void watch() { tasks_.spawn("watching a container", oversee(shared_from_this())); }

  void kill() override {
    sys::send_signal(init_, SIGKILL);  // where it may: a container's init may be another user's
    start_removal();
  }

  async::task<void> wait_gone() override {
    auto done = finished_;
    co_await done->wait();
  }
  async::task<void> wait_failed() override {
    auto failed = failed_;
    co_await failed->wait();
  }
  std::string last_words() const override { return words_; }

  bool took_oom_kill() override {
    const auto now = group_.oom_kills().value_or(oom_kills_);
    return std::exchange(oom_kills_, now) < now;
  }
  std::optional<std::string> container() const override { return facts_.id; }

 private:
  void start_removal() {
    if (std::exchange(removing_, true)) return;
    tasks_.spawn("removing a container", remove(shared_from_this()));
  }

  // The link, and with it the record for a sweep, lives until the container is gone.
  static async::task<void> remove(std::shared_ptr<container_body> self) {
    auto removing = remove_container(self->facts_.run_by, self->facts_.engine_args, self->facts_.name, self->finished_);
    co_await std::move(removing);
    self->facts_.link.reset();
    self->finished_->set();
  }

  // Sees that init ended, or that it is frozen and so as good as dead; whatever it was, the container goes.
  static async::task<void> oversee(std::shared_ptr<container_body> self) {
    asio::posix::stream_descriptor init(self->context_);
    if (self->init_) init.assign(::fcntl(self->init_.get(), F_DUPFD_CLOEXEC, 0));
    while (init.is_open() && !self->removing_) {
      auto waiting = ended_within(init, pause_check);
      if (co_await std::move(waiting)) break;
      if (!self->group_.frozen()) continue;
      self->words_ = "the container was paused";
      break;
    }
    if (self->words_.empty()) self->words_ = "the container ended";
    self->failed_->set();
    self->start_removal();
  }

  // A wait that was cut short is no end: only the pidfd's own word counts.
  static async::task<bool> ended_within(asio::posix::stream_descriptor& init, async::duration limit) {
    auto ended = std::make_shared<bool>(false);
    const auto readable = [](asio::posix::stream_descriptor& what, std::shared_ptr<bool> yes) -> async::task<void> {
      boost::system::error_code failed;
      co_await what.async_wait(asio::posix::stream_descriptor::wait_read,
                               asio::redirect_error(asio::use_awaitable, failed));
      *yes = !failed;
    };
    auto waiting = readable(init, ended);
    auto pending = async::with_deadline(std::move(waiting), limit);
    co_await std::move(pending);
    co_return *ended;
  }

  asio::io_context& context_;
  async::task_group& tasks_;
  container_facts facts_;
  sys::unique_fd init_;
  sys::cgroup group_;
  std::int64_t oom_kills_;
  std::string words_;
  bool removing_ = false;
  std::shared_ptr<async::event> failed_ = std::make_shared<async::event>();
  std::shared_ptr<async::event> finished_ = std::make_shared<async::event>();
};

}  // namespace

async::task<void> remove_container(std::shared_ptr<engine> with, std::vector<std::string> engine_args, std::string name,
                                   std::shared_ptr<async::event> waited_enough) {
  std::vector<std::string> words = std::move(engine_args);
  words.insert(words.end(), {"rm", "--force", "--volumes", "--", name});
  const auto begun = std::chrono::steady_clock::now();
  for (async::duration pause = 100ms;; pause = std::min<async::duration>(pause * 2, 30s)) {
    auto removing = with->run(words, 30s);
    const auto answer = co_await std::move(removing);
    // A removal by --rm under way fails this one; the next finds it gone.
    if (answer && (says_no_such_container(answer->errors) || (answer->code == 0 && answer->errors.empty()))) break;
    if (answer && answer->code == 0 && with->kind() == backend_kind::podman) break;
    const auto tried = std::chrono::steady_clock::now() - begun;
    if (tried > 10s && waited_enough) waited_enough->set();
    if (tried > removal_limit) co_return;
    auto waiting = async::sleep_for(pause);
    co_await std::move(waiting);
  }
}

std::shared_ptr<init_body> make_container_body(asio::io_context& context, async::task_group& tasks,
                                               container_facts facts) {
  auto body = std::make_shared<container_body>(context, tasks, std::move(facts));
  body->watch();
  return body;
}

}  // namespace sbx::sandbox
