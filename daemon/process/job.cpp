#include "daemon/process/job.hpp"

#include <fcntl.h>

#include <cerrno>

namespace sbx::process {

namespace {

struct job_wiring {
  job_wiring() = default;
  start_request start;
  sys::unique_fd feed;
  std::shared_ptr<output_log> out, err;
};

result<sys::unique_fd> wire_log(std::shared_ptr<output_log>& log, const job_request& request,
                                std::vector<output_stream>& outputs) {
  auto pipe = open_output_pipe();
  if (!pipe) return fail(pipe.error());
  log = std::make_shared<output_log>(request.retain_bytes, request.retain);
  outputs.emplace_back(std::move(pipe->read), log);
  return std::move(pipe->write);
}

result<void> wire_input(const job_request& request, job_wiring& wires) {
  if (!request.keep_stdin) {
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

result<job_wiring> wire(job_request& request) {
  job_wiring wires;
  wires.start.command = std::move(request.command);
  if (auto input = wire_input(request, wires); !input) return fail(input.error());
  auto out = wire_log(wires.out, request, wires.start.outputs);
  if (!out) return fail(out.error());
  wires.start.stdout_fd = std::move(*out);
  if (request.streams == stream_layout::merged) {
    wires.start.stderr_fd.reset(::fcntl(wires.start.stdout_fd.get(), F_DUPFD_CLOEXEC, 3));
    if (!wires.start.stderr_fd) return fail_system(errno, "duplicating a descriptor");
    return wires;
  }
  auto err = wire_log(wires.err, request, wires.start.outputs);
  if (!err) return fail(err.error());
  wires.start.stderr_fd = std::move(*err);
  return wires;
}

}  // namespace

job::job(std::shared_ptr<process_tree> process, std::shared_ptr<output_log> out, std::shared_ptr<output_log> err,
         std::chrono::milliseconds grace)
    : recording(std::move(process), std::move(out), std::move(err), grace) {}

async::task<result<std::shared_ptr<job>>> job::start(std::shared_ptr<sandbox::sandbox> box, async::strand strand,
                                                     job_request request) {
  auto wires = wire(request);
  if (!wires) co_return fail(wires.error());
  auto process = std::make_shared<process_tree>(std::move(box), strand);
  std::shared_ptr<job> made(new job(process, wires->out, wires->err, request.grace));
  if (wires->feed) made->set_input(std::make_shared<process::input>(strand, std::move(wires->feed), input_kind::pipe));
  auto starting = process->start(std::move(wires->start));
  const auto begun = co_await std::move(starting);
  if (!begun) co_return fail(begun.error());
  if (request.timeout) process->limit_time(*request.timeout, request.grace);
  made->begin();
  co_return made;
}

std::shared_ptr<job> job::adopt(adopted from) {
  std::shared_ptr<job> made(new job(std::move(from.process), std::move(from.out), std::move(from.err), from.grace));
  made->collected_[0] = from.collected_out;
  made->collected_[1] = from.collected_err;
  made->begin();
  return made;
}

collected job::collect(stream_id stream, std::size_t max_bytes, reading how) {
  collected out;
  const auto& log = log_of(stream);
  if (!log) return out;
  std::int64_t& cursor = collected_[stream == stream_id::err];
  log_chunk chunk = log->read(cursor, max_bytes, how);
  cursor = chunk.next_offset;
  out.data = std::move(chunk.data);
  out.dropped_bytes = chunk.lost_bytes;
  const log_chunk rest = log->read(cursor, 4, how);
  if (rest.data.empty() && rest.lost_bytes > 0) {
    out.dropped_bytes += rest.lost_bytes;
    cursor = rest.next_offset;
  }
  out.truncated = out.dropped_bytes > 0;
  out.more = !rest.data.empty();
  return out;
}

bool job::delivered() const {
  if (!closed()) return false;
  for (const auto stream : {stream_id::out, stream_id::err})
    if (const auto& log = log_of(stream); log && collected_[stream == stream_id::err] < log->total()) return false;
  return true;
}

async::task<result<std::size_t>> job::write_then(std::string data, reading how, std::chrono::milliseconds wait,
                                                 after_write then) {
  const auto self = shared_from_this();
  const std::size_t wanted = data.size();
  auto writing = write(std::move(data), how, wait);
  auto taken = co_await std::move(writing);
  if (taken && *taken == wanted && then == after_write::close) get_input()->close();
  co_return taken;
}

}  // namespace sbx::process
