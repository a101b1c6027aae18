#include "daemon/process/process_tree.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <csignal>

#include "daemon/async/run.hpp"

namespace sbx::process {

namespace asio = async::asio;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

namespace {

constexpr auto quiet_limit = 50ms;      // a kept pipe: so long without a byte is the end of waiting
constexpr auto settle_limit = 500ms;    // and so long in all
constexpr auto last_resort_delay = 6s;  // a tree that does not become empty after KILL takes its sandbox along

error resources(int number, const char* doing) {
  error e = error::system(number, doing);
  e.kind = error_kind::spawn_failed;
  return std::move(e).with("stage", std::string("fork")).with("reason", std::string("resources"));
}

}  // namespace

struct process_tree::drain_state {
  drain_state(async::strand strand, output_stream from)
      : source(strand, from.source.release()), sink(std::move(from.sink)) {}
  asio::posix::stream_descriptor source;
  std::shared_ptr<output_sink> sink;
  bool ended = false;
};

process_tree::process_tree(std::shared_ptr<sandbox::sandbox> box, async::strand strand)
    : box_(std::move(box)), strand_(strand), ladder_(strand), timeout_(strand), last_resort_(strand), tasks_(strand) {}

process_tree::~process_tree() = default;

async::task<result<void>> process_tree::start(start_request request) {
  auto opening = box_->open_leash(strand_);
  auto opened = co_await std::move(opening);
  if (!opened) co_return fail(opened.error());
  leash_ = std::move(*opened);
  sandbox::spawn_request spawn;
  spawn.argv = std::move(request.command.argv);
  spawn.env = std::move(request.command.env);
  spawn.cwd = std::move(request.command.cwd);
  spawn.search_path = std::move(request.command.search_path);
  spawn.cwd_roots = std::move(request.command.cwd_roots);
  spawn.stdin_fd = std::move(request.stdin_fd);
  spawn.stdout_fd = std::move(request.stdout_fd);
  spawn.stderr_fd = std::move(request.stderr_fd);
  spawn.extra_fds = std::move(request.extra_fds);
  spawn.controlling_terminal = request.controlling_terminal;
  began_ = clock::now();
  started_at_ = std::chrono::system_clock::now();
  auto spawning = leash_->spawn(std::move(spawn));
  const auto pid = co_await std::move(spawning);
  if (!pid) {
    leash_.reset();
    co_return fail(pid.error());
  }
  leader_ = *pid;
  last_byte_ = clock::now();
  for (auto& output : request.outputs) {
    outputs_.push_back(std::make_shared<drain_state>(strand_, std::move(output)));
    tasks_.spawn("output of a command", drain(outputs_.back()));
  }
  tasks_.spawn("the end of a command", watch());
  co_return result<void>();
}

// Never stops before end-of-file, so no command blocks on a full pipe or dies of SIGPIPE.
async::task<void> process_tree::drain(std::shared_ptr<drain_state> stream) {
  for (;;) {
    boost::system::error_code failed;
    co_await stream->source.async_wait(asio::posix::descriptor_base::wait_read,
                                       asio::redirect_error(asio::use_awaitable, failed));
    if (failed || stream->ended) co_return;
    std::size_t bytes = 0;
    const drained state = stream->sink->drain(sys::fd_ref(stream->source.native_handle()), bytes);
    if (bytes > 0) last_byte_ = clock::now();
    if (state != drained::ended) continue;
    stream->ended = true;
    progress_.notify_all();
    co_return;
  }
}

bool process_tree::outputs_ended() const {
  for (const auto& output : outputs_)
    if (!output->ended) return false;
  return true;
}

bool process_tree::drain_now() {
  bool empty = true;
  for (const auto& output : outputs_) {
    if (output->ended) continue;
    std::size_t bytes = 0;
    const drained state = output->sink->drain(sys::fd_ref(output->source.native_handle()), bytes);
    if (bytes > 0) last_byte_ = clock::now();
    if (state == drained::ended) {
      output->ended = true;
      boost::system::error_code ignored;
      output->source.cancel(ignored);
    }
    empty = empty && state != drained::more;
  }
  return empty;
}

async::task<void> process_tree::watch() {
  const auto self = shared_from_this();
  auto exiting = leash_->wait_exited();
  const sandbox::leader_end end = co_await std::move(exiting);
  exited_ = true;
  timeout_.cancel();
  set_exit(end);
  tasks_.spawn("the last of a tree", watch_closed());
  auto settling = settle();
  co_await std::move(settling);
  finished_.set();
}

void process_tree::set_exit(const sandbox::leader_end& end) {
  const auto lasted = std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - began_).count();
  exit_ = exit_of(end, lasted);
  if (stop_reason_ && !(end.lost && *stop_reason_ != outcome::stopped)) exit_.outcome = *stop_reason_;
  if (!stop_reason_ && exit_.signal == "SIGKILL" && box_->took_oom_kill()) exit_.outcome = outcome::oom_killed;
}

async::task<void> process_tree::settle() {
  const auto give_up = clock::now() + settle_limit;
  last_byte_ = std::max(last_byte_, clock::now() - quiet_limit);
  const auto quiet_since = clock::now();
  for (;;) {
    const auto seen = progress_.generation();
    const bool tree_was_empty = tree_empty_;
    const bool empty = drain_now();
    if (outputs_ended() || (tree_was_empty && empty)) co_return;
    const auto now = clock::now();
    const auto quiet_until = std::max(last_byte_, quiet_since) + quiet_limit;
    if ((now >= quiet_until && empty) || now >= give_up) co_return;
    if (!empty) {
      auto yielding = async::sleep_for(0ms);
      co_await std::move(yielding);
      continue;
    }
    auto waiting = progress_.wait_past(seen);
    auto limited = async::with_deadline(std::move(waiting), std::min(quiet_until, give_up) - now);
    co_await std::move(limited);
  }
}

async::task<void> process_tree::watch_closed() {
  const auto self = shared_from_this();
  auto closing = leash_->wait_closed();
  co_await std::move(closing);
  tree_empty_ = true;
  ladder_.cancel();
  last_resort_.cancel();
  progress_.notify_all();
  auto finishing = finished_.wait();
  co_await std::move(finishing);
  // Nobody of the tree holds a pipe any more; what it left in them is taken, then they are done with.
  while (!drain_now()) {
    auto yielding = async::sleep_for(0ms);
    co_await std::move(yielding);
  }
  for (const auto& output : outputs_) {
    output->ended = true;
    boost::system::error_code ignored;
    output->source.cancel(ignored);
  }
  closed_.set();
}

async::task<void> process_tree::wait_finished() {
  auto waiting = finished_.wait();
  return waiting;
}

async::task<void> process_tree::wait_closed() {
  auto waiting = closed_.wait();
  return waiting;
}

void process_tree::stop(outcome reason, std::chrono::milliseconds grace, std::optional<int> first) {
  if (!leash_ || tree_empty_) return;
  if (!stop_reason_ && !exited_) stop_reason_ = reason;
  const auto at = clock::now() + grace;
  if (ladder_at_ && *ladder_at_ <= at) return;
  const bool begins = !ladder_at_.has_value();
  ladder_at_ = at;
  if (begins) {
    if (first) leash_->signal(*first, sandbox::signal_target::tree);
    if (!first || *first != SIGTERM) leash_->signal(SIGTERM, sandbox::signal_target::tree);
  }
  ladder_.expires_at(at);
  ladder_.async_wait([weak = weak_from_this()](boost::system::error_code failed) {
    if (failed) return;
    if (auto self = weak.lock()) self->end_tree();
  });
}

void process_tree::kill(outcome reason) {
  if (!leash_ || tree_empty_) return;
  if (!stop_reason_ && !exited_) stop_reason_ = reason;
  end_tree();
}

void process_tree::end_tree() {
  if (ending_ || !leash_) return;
  ending_ = true;
  ladder_at_ = clock::now();
  leash_->end();
  last_resort_.expires_after(last_resort_delay);
  last_resort_.async_wait([weak = weak_from_this()](boost::system::error_code failed) {
    if (failed) return;
    if (auto self = weak.lock(); self && !self->tree_empty_) self->box_->end();
  });
}

void process_tree::signal(int number, sandbox::signal_target target) {
  if (leash_ && !tree_empty_) leash_->signal(number, target);
}

void process_tree::limit_time(std::chrono::milliseconds timeout, std::chrono::milliseconds grace) {
  timeout_.expires_at(began_ + timeout);
  timeout_.async_wait([weak = weak_from_this(), grace](boost::system::error_code failed) {
    if (failed) return;
    if (auto self = weak.lock(); self && !self->exited_) self->stop(outcome::timed_out, grace);
  });
}

async::task<int> process_tree::survivors() {
  if (tree_empty_ || !leash_) co_return 0;
  auto counting = leash_->survivors();
  co_return co_await std::move(counting);
}

void process_tree::drop_output() {
  for (const auto& output : outputs_) output->sink = std::make_shared<discarding_sink>();
}

void process_tree::redirect(const std::shared_ptr<output_sink>& old, std::shared_ptr<output_sink> fresh) {
  for (const auto& output : outputs_) {
    if (output->sink != old) continue;
    output->sink = fresh;
    if (output->ended) fresh->finish();
  }
}

result<pipe_pair> open_output_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(resources(errno, "making a pipe"));
  pipe_pair out;
  out.read.reset(ends[0]);
  out.write.reset(ends[1]);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return out;
}

result<pipe_pair> open_input_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(resources(errno, "making a pipe"));
  pipe_pair out;
  out.read.reset(ends[0]);
  out.write.reset(ends[1]);
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK | O_WRONLY);
  return out;
}

result<sys::unique_fd> open_null() {
  sys::unique_fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null) return fail(resources(errno, "opening /dev/null"));
  return null;
}

}  // namespace sbx::process
