#include "daemon/api/start_recording.hpp"

#include <utility>

#include "daemon/workspace/handle_id.hpp"

namespace sbx::api {

namespace {

using handle_ptr = std::shared_ptr<recording_handle>;

// Gives the place up again unless what was to be started has started, whatever way out is taken.
class reserved_place {
 public:
  reserved_place(std::shared_ptr<workspace::session> session, handle_ptr handle)
      : session_(std::move(session)), handle_(std::move(handle)) {}
  ~reserved_place() {
    if (!handle_) return;
    session_->handles.erase(handle_->id());
    handle_->failed();
  }
  reserved_place(const reserved_place&) = delete;
  reserved_place& operator=(const reserved_place&) = delete;
  void keep() { handle_.reset(); }

 private:
  std::shared_ptr<workspace::session> session_;
  handle_ptr handle_;
};

std::size_t active_max(const workspace::settings& known, workspace::handle_kind kind) {
  return kind == workspace::handle_kind::job ? known.max_jobs : known.max_ptys;
}

}  // namespace

async::task<result<handle_ptr>> start_recording(core& c, place where, start_wish wish, sandbox::progress_fn progress) {
  const bool is_job = wish.kind == workspace::handle_kind::job;
  forget_old(*where.session);
  const auto space = where.hold.space;
  auto handle =
      std::make_shared<recording_handle>(wish.kind, workspace::make_handle(is_job ? "job-" : "pty-"), space->id());
  handle->line = wish.command.line;
  handle->argv = wish.command.argv;
  if (auto added = c.registry.add_handle(*where.session, handle, active_max(c.registry.known(), wish.kind)); !added)
    co_return fail(added.error());
  reserved_place reserved(where.session, handle);

  auto preparing = prepare_command(c, where, std::move(wish.command), std::move(progress));
  auto ready = co_await std::move(preparing);
  if (!ready) co_return fail(ready.error());
  const auto argv = ready->command.argv;
  const async::strand own = c.make_strand();
  auto starting = wish.start(ready->box, own, std::move(ready->command));
  auto there = async::on(own, std::move(starting));
  auto started = co_await std::move(there);
  if (!started) co_return fail(started.error());
  ++c.processes_started;
  space->track(where.session->id, (*started)->process(), argv, handle->id());
  handle->started(*started);
  reserved.keep();
  c.tasks().spawn("the end of a recording", watch_closing(where.session, handle));
  if (handle->ending())
    co_return fail(workspace::no_such_handle(where.session->id));  // its session or workspace ended meanwhile
  co_return handle;
}

}  // namespace sbx::api
