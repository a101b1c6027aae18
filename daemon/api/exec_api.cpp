// exec.*
#include <fcntl.h>

#include <boost/asio/dispatch.hpp>
#include <cerrno>
#include <utility>

#include "daemon/api/bind.hpp"
#include "daemon/api/command.hpp"
#include "daemon/api/convert.hpp"
#include "daemon/api/core.hpp"
#include "daemon/api/recording_handle.hpp"
#include "daemon/process/exec.hpp"
#include "daemon/process/handed_fd.hpp"
#include "daemon/process/job.hpp"
#include "daemon/workspace/handle_id.hpp"

namespace sbx::api {

namespace {

using exec_ptr = std::shared_ptr<process::exec>;

// Takes descriptors of a call by their number; the same number twice gives duplicates.
class fd_taker {
 public:
  fd_taker(rpc::call_context& call, process::handing how) : call_(call), how_(how) {}

  result<sys::unique_fd> take(std::int64_t number, process::direction way, const std::string& pointer) {
    const auto known = taken_.find(number);
    if (known == taken_.end()) {
      auto fd = call_.take_fd(static_cast<std::size_t>(number));
      if (!fd) return fail(wrong_param(pointer, fd.error().message));
      taken_.emplace(number, std::move(*fd));
    }
    const sys::fd_ref lent = taken_.at(number);
    if (auto fits = process::check_handed_fd(lent, way, how_); !fits) {
      if (fits.error().kind != error_kind::invalid_params) return fail(fits.error());
      return fail(wrong_param(pointer, fits.error().message));
    }
    sys::unique_fd own(::fcntl(lent.get(), F_DUPFD_CLOEXEC, 3));
    if (!own) return fail_system(errno, "duplicating a descriptor");
    return own;
  }

 private:
  rpc::call_context& call_;
  process::handing how_;
  std::map<std::int64_t, sys::unique_fd> taken_;
};

result<void> take_streams(rpc::call_context& call, process::handing how, proto::exec_run_params& wanted,
                          process::exec_request& into) {
  fd_taker fds(call, how);
  if (wanted.input && wanted.input->fd) {
    auto fd = fds.take(*wanted.input->fd, process::direction::command_reads, "/stdin/fd");
    if (!fd) return fail(fd.error());
    into.stdin_fd = std::move(*fd);
  } else if (wanted.input && wanted.input->content) {
    into.stdin_data = std::move(wanted.input->content->bytes);
  }
  if (wanted.stdout_fd) {
    auto fd = fds.take(wanted.stdout_fd->index, process::direction::command_writes, "/stdout/fd");
    if (!fd) return fail(fd.error());
    into.stdout_fd = std::move(*fd);
  }
  if (wanted.stderr_fd) {
    if (wanted.merge_stderr) return fail(wrong_param("/stderr", "It is merged into stdout already."));
    auto fd = fds.take(wanted.stderr_fd->index, process::direction::command_writes, "/stderr/fd");
    if (!fd) return fail(fd.error());
    into.stderr_fd = std::move(*fd);
  }
  return {};
}

process::exec_request to_request(const proto::exec_run_params& wanted) {
  process::exec_request out;
  out.merge_stderr = wanted.merge_stderr;
  out.output_bytes_max = static_cast<std::size_t>(wanted.max_output_bytes);
  out.timeout = to_ms(wanted.timeout_ms);
  out.grace = to_ms(wanted.grace_ms);
  out.survivors =
      wanted.survivors == proto::survivors_rule::kill ? process::survivors_rule::kill : process::survivors_rule::leave;
  return out;
}

// The place of an exec.run among those of its connection, for exec.signal.
class exec_slot {
 public:
  exec_slot(std::shared_ptr<connection_data> data, const std::optional<proto::request_id>& id)
      : data_(std::move(data)), id_(id) {
    if (id_) data_->execs[*id_] = running_;
  }
  ~exec_slot() {
    if (id_) data_->execs.erase(*id_);
  }
  exec_slot(const exec_slot&) = delete;
  exec_slot& operator=(const exec_slot&) = delete;

  void started(const exec_ptr& command) {
    running_->signal = [command](int number, sandbox::signal_target target) {
      async::asio::dispatch(command->strand(), [command, number, target] { command->signal(number, target); });
    };
    for (const auto& [number, target] : std::exchange(running_->waiting, {})) running_->signal(number, target);
  }

 private:
  std::shared_ptr<connection_data> data_;
  std::optional<proto::request_id> id_;
  std::shared_ptr<running_exec> running_ = std::make_shared<running_exec>();
};

process::exec_stop stop_for(rpc::stop_reason why) {
  return why == rpc::stop_reason::cancelled ? process::exec_stop::cancel : process::exec_stop::kill;
}

struct begun {
  begun() = default;
  exec_ptr command;
  process::command what;
};

// The place of a job that an exec.run may become. Given up again unless it has become one.
class job_place {
 public:
  job_place(core& c, std::shared_ptr<workspace::session> session) : core_(c), session_(std::move(session)) {}
  ~job_place() {
    if (!handle_) return;
    async::asio::dispatch(core_.registry.strand(), [session = std::move(session_), handle = std::move(handle_)] {
      session->handles.erase(handle->id());
      handle->failed();
    });
  }
  job_place(const job_place&) = delete;
  job_place& operator=(const job_place&) = delete;

  // On the registry's strand.
  result<std::shared_ptr<recording_handle>> take(const std::string& workspace, const command_wish& wish) {
    forget_old(*session_);
    auto made =
        std::make_shared<recording_handle>(workspace::handle_kind::job, workspace::make_handle("job-"), workspace);
    made->line = wish.line;
    made->argv = wish.argv;
    made->hidden = true;
    if (auto added = core_.registry.add_handle(*session_, made, core_.registry.known().max_jobs); !added)
      return fail(added.error());
    handle_ = made;
    return made;
  }
  const std::shared_ptr<recording_handle>& handle() const { return handle_; }
  std::shared_ptr<recording_handle> keep() { return std::exchange(handle_, nullptr); }

 private:
  core& core_;
  std::shared_ptr<workspace::session> session_;
  std::shared_ptr<recording_handle> handle_;
};

// On the registry's strand: the exec is known to its workspace before it starts, so that closing ends it as stopped.
async::task<result<begun>> begin(core& c, place where, command_wish wish, std::shared_ptr<job_place> job,
                                 sandbox::progress_fn progress) {
  std::string handle;
  if (job) {
    auto taken = job->take(where.hold.space->id(), wish);
    if (!taken) co_return fail(taken.error());
    handle = (*taken)->id();
  }
  auto preparing = prepare_command(c, where, std::move(wish), std::move(progress));
  auto ready = co_await std::move(preparing);
  if (!ready) co_return fail(ready.error());
  begun out;
  out.command = std::make_shared<process::exec>(ready->box, c.make_strand());
  if (job)
    job->handle()->interrupt = [tree = out.command->running()] {
      async::asio::dispatch(tree->strand(), [tree] { tree->kill(process::outcome::stopped); });
    };
  where.hold.space->track(where.session->id, out.command->running(), ready->command.argv, handle);
  out.what = std::move(ready->command);
  co_return out;
}

error stopped() {
  return error(error_kind::cancelled, "The request was cancelled.");
}

// Runs it to its end, or until the call is stopped. The call is stopped on the strand of its connection, where this
// runs.
async::task<result<process::exec_result>> run_to_end(rpc::call_context& call, exec_ptr command,
                                                     process::exec_request request) {
  auto stop = [&call, command] {
    async::asio::dispatch(command->strand(), [command, how = stop_for(call.stopped_by())] { command->stop(how); });
  };
  const auto watching = call.stopping().on_set(std::move(stop));
  auto running = command->run(std::move(request));
  auto there = async::on(command->strand(), std::move(running));
  co_return co_await std::move(there);
}

// Whoever has a say in it is asked, until the call is stopped.
async::task<result<void>> ask_unless_stopped(rpc::call_context& call, const place& where, const command_wish& wish) {
  if (where.to_ask.empty()) co_return result<void>();
  auto asking = ask_about_command(where, proto::exec_run::name, wish);
  auto asked = async::until(call.stopping(), std::move(asking));
  const auto allowed = co_await std::move(asked);
  if (!allowed) co_return fail(stopped());
  co_return *allowed;
}

void keep_survivors(core& c, const place& where, std::shared_ptr<process::process_tree> left) {
  async::asio::dispatch(c.registry.strand(),
                        [space = where.hold.space, left = std::move(left)] { space->survivors().add(left); });
}

proto::exec_run_result describe_result(process::exec_result ended, std::optional<proto::encoding> forced) {
  proto::exec_run_result out;
  out.exit = to_wire(ended.exit);
  if (ended.out) out.out = to_wire(std::move(*ended.out), forced);
  if (ended.err) out.err = to_wire(std::move(*ended.err), forced);
  out.survivors = ended.survivors;
  return out;
}

// What was an exec.run is a job of its session from now on; answers its handle.
async::task<std::string> become_job(core& c, std::shared_ptr<workspace::session> session,
                                    std::shared_ptr<job_place> place, std::shared_ptr<process::job> job) {
  auto becoming = async::call_on(c.registry.strand(), [&c, session, handle = place->keep(), job] {
    handle->hidden = false;
    handle->started(job);
    c.tasks().spawn("the end of a recording", watch_closing(session, handle));
    return handle->id();
  });
  co_return co_await std::move(becoming);
}

proto::exec_run_result describe_running(process::exec_result so_far, std::string id,
                                        std::optional<proto::encoding> forced) {
  proto::exec_run_result out;
  out.status = proto::run_status::running;
  if (so_far.out) out.out = to_wire(std::move(*so_far.out), forced);
  if (so_far.err) out.err = to_wire(std::move(*so_far.err), forced);
  out.job = std::move(id);
  return out;
}

answer<proto::exec_run> run(core& c, rpc::call_context& call, proto::exec_run_params wanted) {
  auto finding = c.find_place(call, proto::exec_run::name, wanted.session, wanted.workspace);
  auto where = co_await std::move(finding);
  if (!where) co_return fail(where.error());
  const bool walled = where->hold.space->spec().backend != sandbox::backend_kind::none;
  process::exec_request request = to_request(wanted);
  request.yield = to_ms(wanted.yield_ms);
  request.job_retain_bytes = c.retain_bytes();
  auto streams = take_streams(call, walled ? process::handing::walled : process::handing::unwalled, wanted, request);
  if (!streams) co_return fail(streams.error());
  const command_wish wish(wanted);
  exec_slot slot(core::data_of(call), call.id());

  auto asking = ask_unless_stopped(call, *where, wish);
  if (auto allowed = co_await std::move(asking); !allowed) co_return fail(allowed.error());

  std::shared_ptr<job_place> job;
  if (wanted.yield_ms) job = std::make_shared<job_place>(c, where->session);
  auto beginning = begin(c, *where, wish, job, progress_to(call));
  auto there = async::on(c.registry.strand(), std::move(beginning));
  auto unless_stopped = async::until(call.stopping(), std::move(there));
  auto ready = co_await std::move(unless_stopped);
  if (!ready) co_return fail(stopped());
  if (!*ready) co_return fail(ready->error());

  request.command = std::move((*ready)->what);
  const exec_ptr command = (*ready)->command;
  call.keep(command);
  slot.started(command);
  auto running = run_to_end(call, command, std::move(request));
  auto ended = co_await std::move(running);
  const bool went_on = ended && ended->job;
  if (call.stopped_by() != rpc::stop_reason::none && !went_on) co_return fail(stopped());
  if (!ended) co_return fail(ended.error());
  ++c.processes_started;
  c.bytes_drained += (ended->out ? ended->out->total_bytes : 0) + (ended->err ? ended->err->total_bytes : 0);
  if (ended->job) {
    auto becoming = become_job(c, where->session, job, ended->job);
    std::string id = co_await std::move(becoming);
    co_return describe_running(std::move(*ended), std::move(id), wanted.encoding);
  }
  if (ended->left) keep_survivors(c, *where, std::move(ended->left));
  co_return describe_result(std::move(*ended), wanted.encoding);
}

answer<proto::exec_signal> signal(core&, rpc::call_context& call, proto::exec_signal_params wanted) {
  const auto number = to_signal(wanted.signal);
  if (!number) co_return fail(number.error());
  const auto data = core::data_of(call);
  const auto found = data->execs.find(wanted.id);
  if (found == data->execs.end()) co_return fail(workspace::no_such_handle(proto::to_json_text(wanted.id)));
  const auto target = to_target(wanted.target);
  if (found->second->signal)
    found->second->signal(*number, target);
  else
    found->second->waiting.emplace_back(*number, target);
  co_return proto::nothing();
}

}  // namespace

void register_exec_methods(core& c, rpc::method_table& table) {
  bind<proto::exec_run>(table, with(c, run), rpc::stop_style::ask);
  bind<proto::exec_signal>(table, with(c, signal));
}

}  // namespace sbx::api
