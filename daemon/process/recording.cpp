#include "daemon/process/recording.hpp"

#include "daemon/async/run.hpp"

namespace sbx::process {

namespace {

// Long polls wake up when nothing more can come.
async::task<void> tell_closed(std::shared_ptr<process_tree> process, std::shared_ptr<output_log> out,
                              std::shared_ptr<output_log> err) {
  auto closing = process->wait_closed();
  co_await std::move(closing);
  out->finish();
  if (err) err->finish();
}

}  // namespace

recording::recording(std::shared_ptr<process_tree> process, std::shared_ptr<output_log> out,
                     std::shared_ptr<output_log> err, std::chrono::milliseconds grace)
    : process_(std::move(process)), out_(std::move(out)), err_(std::move(err)), grace_(grace) {}

void recording::begin() {
  process_->tasks().spawn("the end of a log", tell_closed(process_, out_, err_));
}

async::task<log_chunk> recording::next(stream_id stream, std::int64_t offset, std::size_t max_bytes, reading how) {
  const auto self = shared_from_this();
  const auto log = log_of(stream);
  if (!log) {
    if (!closed()) {
      auto closing = process_->wait_closed();
      co_await std::move(closing);
    }
    log_chunk none;
    none.offset = none.next_offset = offset;
    none.at_end = true;
    co_return none;
  }
  for (;;) {
    const auto seen = log->changed().generation();
    log_chunk chunk = log->read(offset, max_bytes, how);
    if (chunk.says_something() || closed()) co_return chunk;
    auto waiting = log->changed().wait_past(seen);
    co_await std::move(waiting);
  }
}

async::task<log_answer> recording::read(stream_id stream, std::int64_t offset, std::size_t max_bytes, reading how,
                                        std::chrono::milliseconds wait) {
  const auto self = shared_from_this();
  if (wait.count() > 0) {
    auto coming = next(stream, offset, max_bytes, how);
    auto limited = async::with_deadline(std::move(coming), wait);
    co_await std::move(limited);
  }
  log_answer out;
  out.offset = out.next_offset = offset;
  out.at_end = true;
  if (const auto& log = log_of(stream)) static_cast<log_chunk&>(out) = log->read(offset, max_bytes, how);
  out.eof = closed() && out.at_end;
  out.exited = exited();
  out.exit = exit();
  co_return out;
}

async::task<void> recording::wait_exited() {
  const auto self = shared_from_this();
  auto waiting = process_->wait_finished();
  co_await std::move(waiting);
}

async::task<void> recording::wait_closed() {
  const auto self = shared_from_this();
  auto waiting = process_->wait_closed();
  co_await std::move(waiting);
}

async::task<void> recording::wait_exited_for(std::optional<std::chrono::milliseconds> limit) {
  const auto self = shared_from_this();
  if (exited()) co_return;
  auto waiting = process_->wait_finished();
  if (!limit) {
    co_await std::move(waiting);
    co_return;
  }
  auto limited = async::with_deadline(std::move(waiting), *limit);
  co_await std::move(limited);
}

std::optional<exit_status> recording::exit() const {
  if (!exited()) return std::nullopt;
  return process_->exit();
}

std::int64_t recording::total_bytes() const {
  return out_->total() + (err_ ? err_->total() : 0);
}

async::task<result<std::size_t>> recording::write(std::string data, reading how, std::chrono::milliseconds wait) {
  const auto self = shared_from_this();
  if (!input_) co_return fail(error_kind::invalid_params, "it was started without an input to write to");
  auto writing = input_->write(std::move(data), how, wait);
  co_return co_await std::move(writing);
}

async::task<void> recording::stop(std::optional<std::chrono::milliseconds> grace) {
  const auto self = shared_from_this();
  process_->stop(outcome::stopped, grace.value_or(grace_), first_signal());
  auto closing = process_->wait_closed();
  co_await std::move(closing);
}

async::task<void> recording::end() {
  const auto self = shared_from_this();
  process_->kill(outcome::stopped);
  auto closing = process_->wait_closed();
  co_await std::move(closing);
}

}  // namespace sbx::process
