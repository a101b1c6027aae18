#include "daemon/process/exec.hpp"

#include <fcntl.h>

#include "daemon/async/run.hpp"
#include "daemon/process/feeder.hpp"

namespace sbx::process {

namespace {

struct wiring {
  wiring() = default;
  start_request start;
  sys::unique_fd feed;  // our end of the command's stdin, when there is data
  std::shared_ptr<capture> out, err;
};

// A stream's descriptor for the command: the client's own, or a pipe into `into`.
result<sys::unique_fd> wire_output(std::optional<sys::unique_fd>& given, std::size_t bytes_max,
                                   std::vector<output_stream>& outputs, std::shared_ptr<capture>& into) {
  if (given) return std::move(*given);
  auto pipe = open_output_pipe();
  if (!pipe) return fail(pipe.error());
  into = std::make_shared<capture>(bytes_max);
  outputs.emplace_back(std::move(pipe->read), into);
  return std::move(pipe->write);
}

result<void> wire_input(exec_request& request, wiring& wires) {
  if (request.stdin_fd) {
    wires.start.stdin_fd = std::move(*request.stdin_fd);
    return {};
  }
  if (request.stdin_data.empty()) {
    auto null = open_null();
    if (!null) return fail(null.error());
    wires.start.stdin_fd = std::move(*null);
    return {};
  }
  auto pipe = open_input_pipe();
  if (!pipe) return fail(pipe.error());
  wires.start.stdin_fd = std::move(pipe->read);
  wires.feed = std::move(pipe->write);
  return {};
}

result<wiring> wire(exec_request& request) {
  wiring wires;
  wires.start.command = std::move(request.command);
  if (auto input = wire_input(request, wires); !input) return fail(input.error());
  auto out = wire_output(request.stdout_fd, request.output_bytes_max, wires.start.outputs, wires.out);
  if (!out) return fail(out.error());
  wires.start.stdout_fd = std::move(*out);
  if (request.merge_stderr) {
    wires.start.stderr_fd.reset(::fcntl(wires.start.stdout_fd.get(), F_DUPFD_CLOEXEC, 3));
    if (!wires.start.stderr_fd) return fail_system(errno, "duplicating a descriptor");
    return wires;
  }
  auto err = wire_output(request.stderr_fd, request.output_bytes_max, wires.start.outputs, wires.err);
  if (!err) return fail(err.error());
  wires.start.stderr_fd = std::move(*err);
  return wires;
}

}  // namespace

exec::exec(std::shared_ptr<sandbox::sandbox> box, async::strand strand)
    : strand_(strand), process_(std::make_shared<process_tree>(std::move(box), strand)) {}

async::task<result<exec_result>> exec::run(exec_request request) {
  const auto self = shared_from_this();
  grace_ = request.grace;
  auto wires = wire(request);
  if (!wires) co_return fail(wires.error());
  auto starting = process_->start(std::move(wires->start));
  const auto begun = co_await std::move(starting);
  if (!begun) co_return fail(begun.error());
  started_ = true;
  if (stopping_) stop(*stopping_);
  for (const auto& [number, target] : std::exchange(early_signals_, {})) process_->signal(number, target);
  if (request.timeout) process_->limit_time(*request.timeout, request.grace);
  if (wires->feed)
    process_->tasks().spawn("input of a command",
                            feed_pipe(strand_, std::move(wires->feed), std::move(request.stdin_data)));
  captures streams(wires->out, wires->err);
  auto finishing = wait_finished(request.yield);
  co_await std::move(finishing);
  if (!process_->finished() && !stopping_) co_return go_on(request.job_retain_bytes, std::move(streams));
  auto ending = finish(request.survivors, std::move(streams));
  co_return co_await std::move(ending);
}

// With a limit it may answer before the end, but only when nobody has asked to stop.
async::task<void> exec::wait_finished(std::optional<std::chrono::milliseconds> limit) {
  if (limit) {
    auto waiting = process_->wait_finished();
    auto limited = async::with_deadline(std::move(waiting), *limit);
    const bool in_time = co_await std::move(limited);
    if (in_time || !stopping_) co_return;
  }
  auto finishing = process_->wait_finished();
  co_await std::move(finishing);
}

async::task<exec_result> exec::finish(survivors_rule survivors, captures streams) {
  exec_result out;
  out.exit = process_->exit();
  const bool ended_by_us = out.exit.outcome == outcome::timed_out || stopping_.has_value();
  if (!process_->closed() && (ended_by_us || survivors == survivors_rule::kill)) {
    if (!ended_by_us) process_->kill(outcome::stopped);
    auto closing = process_->wait_closed();
    co_await std::move(closing);
  }
  if (!process_->closed()) {
    auto counting = process_->survivors();
    out.survivors = co_await std::move(counting);
    if (out.survivors > 0) out.left = process_;
  }
  if (streams.first) out.out = streams.first->take();
  if (streams.second) out.err = streams.second->take();
  process_->drop_output();
  co_return out;
}

exec_result exec::go_on(std::size_t retain_bytes, captures streams) {
  yielded_ = true;
  exec_result out;
  job::adopted going;
  going.process = process_;
  going.grace = grace_;
  going.out = std::make_shared<output_log>(retain_bytes, retain_rule::tail);
  if (streams.first) {
    out.out = streams.first->hand_over(*going.out);
    going.collected_out = out.out->total_bytes;
    process_->redirect(streams.first, going.out);
  }
  if (streams.second) {
    going.err = std::make_shared<output_log>(retain_bytes, retain_rule::tail);
    out.err = streams.second->hand_over(*going.err);
    going.collected_err = out.err->total_bytes;
    process_->redirect(streams.second, going.err);
  }
  out.job = job::adopt(std::move(going));
  return out;
}

void exec::stop(exec_stop how) {
  if (yielded_) return;
  stopping_ = how;
  if (!started_) return;
  if (how == exec_stop::kill) {
    process_->kill(outcome::cancelled);
  } else {
    process_->stop(outcome::cancelled, grace_);
  }
}

void exec::signal(int number, sandbox::signal_target target) {
  if (started_) {
    process_->signal(number, target);
  } else if (early_signals_.size() < 64) {
    early_signals_.emplace_back(number, target);
  }
}

}  // namespace sbx::process
