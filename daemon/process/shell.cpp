#include "daemon/process/shell.hpp"

#include <algorithm>
#include <csignal>

#include "daemon/async/run.hpp"

namespace sbx::process {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

namespace {

constexpr auto interrupt_again = 100ms;  // for what began after the first interrupt

error is_over() {
  return error(error_kind::conflict, "the shell was closed");
}

class busy_mark {
 public:
  explicit busy_mark(bool& mark) : mark_(mark) { mark_ = true; }
  ~busy_mark() { mark_ = false; }
  busy_mark(const busy_mark&) = delete;
  busy_mark& operator=(const busy_mark&) = delete;

 private:
  bool& mark_;
};

}  // namespace

shell::shell(async::strand strand, shell_options options) : strand_(strand), options_(std::move(options)) {}

async::task<result<void>> shell::open() {
  const auto self = shared_from_this();
  if (busy_) co_return fail(error_kind::conflict, "the shell runs a command");
  const busy_mark mark(busy_);
  auto starting = start_life();
  co_return co_await std::move(starting);
}

async::task<result<void>> shell::start_life() {
  life_.reset();
  auto boxing = options_.box();
  auto box = co_await std::move(boxing);
  if (!box) co_return fail(box.error());
  if (ended_) co_return fail(is_over());
  process::command command = options_.command(**box);
  first_cwd_ = command.cwd;
  auto starting = bash::start(std::move(*box), strand_, std::move(command));
  auto made = co_await std::move(starting);
  if (!made) co_return fail(made.error());
  life_ = std::move(*made);
  if (options_.started) options_.started(life_->process());
  if (ended_) life_->process()->kill(outcome::stopped);
  co_return result<void>();
}

async::task<result<shell_result>> shell::run(shell_run_request request) {
  const auto self = shared_from_this();
  if (ended_) co_return fail(is_over());
  if (busy_) co_return fail(error_kind::conflict, "the shell runs a command");
  const busy_mark mark(busy_);
  interrupted_.reset();
  const bool fresh = !life_ || life_->ended();
  if (fresh) {
    auto starting = start_life();
    const auto begun = co_await std::move(starting);
    if (!begun) co_return fail(begun.error());
  }
  const auto began = clock::now();
  life_->begin(std::move(request.line), request.output_bytes_max);
  auto waiting = wait_for_line(request.timeout);
  co_await std::move(waiting);
  auto settling = settle(began);
  shell_result out = co_await std::move(settling);
  co_return out;
}

// Until the line is done or the shell has ended. An interrupt goes to all of it and is repeated; what does not heed it
// costs the shell.
async::task<void> shell::wait_for_line(std::optional<std::chrono::milliseconds> timeout) {
  const auto life = life_;
  const auto time_is_up = timeout ? clock::now() + *timeout : clock::time_point::max();
  std::optional<clock::time_point> kill_at;
  for (;;) {
    const auto seen = life->changed().generation();
    if (life->report() || life->ended()) co_return;
    const auto now = clock::now();
    if (!interrupted_ && now >= time_is_up) interrupted_ = outcome::timed_out;
    if (interrupted_ && !kill_at) kill_at = now + options_.grace;
    auto wake_at = time_is_up;
    if (kill_at) {
      if (now >= *kill_at) {
        life->process()->kill(*interrupted_);
        wake_at = clock::time_point::max();
      } else {
        life->process()->signal(SIGINT, sandbox::signal_target::tree);
        wake_at = std::min(*kill_at, now + interrupt_again);
      }
    }
    auto waiting = life->changed().wait_past(seen);
    if (wake_at == clock::time_point::max()) {
      co_await std::move(waiting);
      continue;
    }
    auto limited = async::with_deadline(std::move(waiting), wake_at - now);
    co_await std::move(limited);
  }
}

void shell::cancel() {
  if (!busy_ || interrupted_) return;
  interrupted_ = outcome::cancelled;
  if (life_) life_->changed().notify_all();
}

async::task<shell_result> shell::settle(clock::time_point began) {
  if (!life_->report()) {
    auto losing = lost_life();
    co_return co_await std::move(losing);
  }
  life_->drain();
  shell_result out = line_result(began);
  auto counting = life_->process()->survivors();
  out.survivors = co_await std::move(counting);
  co_return out;
}

shell_result shell::line_result(clock::time_point began) {
  shell_result out;
  out.exit.outcome = interrupted_.value_or(outcome::exited);
  out.exit.code = life_->report()->code;
  out.exit.duration_ms = std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - began).count();
  out.out = life_->take_out();
  out.err = life_->take_err();
  out.cwd = life_->report()->cwd;
  return out;
}

// The command took its shell along, or had to.
async::task<shell_result> shell::lost_life() {
  const auto life = std::move(life_);
  const auto process = life->process();
  auto finishing = process->wait_finished();
  co_await std::move(finishing);
  shell_result out;
  out.restarted = true;
  out.exit = process->exit();
  if ((life->lied() || interrupted_ || ended_) && !process->closed()) {
    process->kill(outcome::stopped);
    auto closing = process->wait_closed();
    co_await std::move(closing);
  }
  if (!process->closed()) {
    auto counting = process->survivors();
    out.survivors = co_await std::move(counting);
    if (out.survivors > 0 && options_.left) options_.left(process);
  }
  out.out = life->take_out();
  out.err = life->take_err();
  process->drop_output();
  out.cwd = first_cwd_;
  co_return out;
}

async::task<void> shell::end() {
  const auto self = shared_from_this();
  ended_ = true;
  if (!life_) co_return;
  const auto process = life_->process();
  process->kill(outcome::stopped);
  auto closing = process->wait_closed();
  co_await std::move(closing);
}

}  // namespace sbx::process
