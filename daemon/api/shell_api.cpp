// shell.*
#include <boost/asio/dispatch.hpp>
#include <utility>

#include "daemon/api/bind.hpp"
#include "daemon/api/command.hpp"
#include "daemon/api/config.hpp"
#include "daemon/api/convert.hpp"
#include "daemon/process/shell.hpp"
#include "daemon/workspace/handle_id.hpp"

namespace sbx::api {

namespace {

constexpr auto kind = workspace::handle_kind::shell;

class shell_handle final : public workspace::handle {
 public:
  shell_handle(std::string id, std::string workspace)
      : handle(workspace::handle_kind::shell, std::move(id), std::move(workspace)) {}

  async::task<void> end() override {
    const auto ending = shell;
    auto stopping = ending->end();
    auto there = async::on(ending->strand(), std::move(stopping));
    co_await std::move(there);
  }
  bool active() const override { return true; }  // until it is closed

  std::shared_ptr<process::shell> shell;  // set before the session knows of the handle
};

// The running sandbox, from any executor; the roots are looked at before.
async::task<result<std::shared_ptr<sandbox::sandbox>>> running_box(core& c,
                                                                   std::shared_ptr<workspace::workspace> space) {
  auto checking = check_roots(c, space->roots());
  if (auto present = co_await std::move(checking); !present) co_return fail(present.error());
  auto starting = space->ensure_started({});
  auto there = async::on(c.registry.strand(), std::move(starting));
  co_return co_await std::move(there);
}

process::shell_options make_options(core& c, const place& where, const proto::shell_open_params& wanted,
                                    const std::string& id) {
  const auto space = where.hold.space;
  const std::string session = where.session->id;
  process::shell_options out;
  out.box = [&c, space] { return running_box(c, space); };
  command_wish wish;
  wish.env = to_env(wanted.env);
  if (wanted.cwd) wish.cwd = wanted.cwd->value;
  out.command = [hold = where.hold, wish](const sandbox::sandbox& box) {
    process::command made = make_command(hold, wish, box);
    made.search_path = process::own_path(box);
    return made;
  };
  out.started = [&c, space, session, id](std::shared_ptr<process::process_tree> tree) {
    ++c.processes_started;
    async::asio::dispatch(c.registry.strand(), [space, session, id, tree] {
      const std::vector<std::string> argv{"bash"};
      space->track(session, tree, argv, id);
    });
  };
  out.left = [&c, space](std::shared_ptr<process::process_tree> tree) {
    async::asio::dispatch(c.registry.strand(), [space, tree] { space->survivors().add(tree); });
  };
  return out;
}

// Gives the place in the session up again when the shell did not start.
async::task<result<void>> add_handle(core& c, std::shared_ptr<workspace::session> session,
                                     std::shared_ptr<shell_handle> handle) {
  auto adding = async::call_on(c.registry.strand(), [&c, session, handle]() -> result<void> {
    return c.registry.add_handle(*session, handle, c.registry.known().max_shells);
  });
  co_return co_await std::move(adding);
}

class place_guard {
 public:
  place_guard(core& c, std::shared_ptr<workspace::session> session, std::string id)
      : core_(c), session_(std::move(session)), id_(std::move(id)) {}
  ~place_guard() {
    if (session_)
      async::asio::dispatch(core_.registry.strand(),
                            [session = std::move(session_), id = std::move(id_)] { session->handles.erase(id); });
  }
  place_guard(const place_guard&) = delete;
  place_guard& operator=(const place_guard&) = delete;
  void keep() { session_.reset(); }

 private:
  core& core_;
  std::shared_ptr<workspace::session> session_;
  std::string id_;
};

answer<proto::shell_open> open(core& c, rpc::call_context& call, proto::shell_open_params wanted) {
  auto finding = c.find_place(call, proto::shell_open::name, wanted.session, wanted.workspace);
  auto where = co_await std::move(finding);
  if (!where) co_return fail(where.error());
  command_wish wish;
  wish.argv.emplace(1, "bash");
  if (wanted.cwd) wish.cwd = wanted.cwd->value;
  auto asking = ask_about_command(*where, proto::shell_open::name, wish);
  if (auto allowed = co_await std::move(asking); !allowed) co_return fail(allowed.error());
  auto handle = std::make_shared<shell_handle>(workspace::make_handle("shl-"), wanted.workspace);
  handle->shell = std::make_shared<process::shell>(c.make_strand(), make_options(c, *where, wanted, handle->id()));
  auto adding = add_handle(c, where->session, handle);
  if (auto added = co_await std::move(adding); !added) co_return fail(added.error());
  place_guard guard(c, where->session, handle->id());
  auto opening = handle->shell->open();
  auto there = async::on(handle->shell->strand(), std::move(opening));
  if (auto opened = co_await std::move(there); !opened) co_return fail(opened.error());
  guard.keep();
  proto::shell_open_result out;
  out.shell = handle->id();
  co_return out;
}

async::task<void> cancel_when_asked(rpc::call_context& call, std::shared_ptr<process::shell> shell) {
  auto waiting = call.stopping().wait();
  co_await std::move(waiting);
  async::asio::dispatch(shell->strand(), [shell] { shell->cancel(); });
}

async::task<result<process::shell_result>> run_to_end(rpc::call_context& call, std::shared_ptr<process::shell> shell,
                                                      process::shell_run_request request) {
  async::task_group watching(co_await async::asio::this_coro::executor);
  watching.spawn("stopping a shell.run", cancel_when_asked(call, shell));
  auto running = shell->run(std::move(request));
  auto there = async::on(shell->strand(), std::move(running));
  auto ended = co_await std::move(there);
  watching.cancel();
  auto joining = watching.join();
  co_await std::move(joining);
  co_return ended;
}

answer<proto::shell_run> run(core& c, rpc::call_context& call, proto::shell_run_params wanted) {
  auto finding = c.find_handle(call, proto::shell_run::name, wanted.session, kind, wanted.shell, wanted.command);
  auto found = co_await std::move(finding);
  if (!found) co_return fail(found.error());
  const auto shell = std::static_pointer_cast<shell_handle>(found->handle)->shell;
  process::shell_run_request request;
  request.line = wanted.command;
  request.timeout = to_ms(wanted.timeout_ms);
  request.output_bytes_max = static_cast<std::size_t>(wanted.max_output_bytes);
  auto running = run_to_end(call, shell, std::move(request));
  auto ended = co_await std::move(running);
  if (call.stopped_by() != rpc::stop_reason::none) co_return fail(error_kind::cancelled, "The request was cancelled.");
  if (!ended) co_return fail(ended.error());
  c.bytes_drained += ended->out.total_bytes + ended->err.total_bytes;
  proto::shell_run_result out;
  out.exit = to_wire(ended->exit);
  out.out = to_wire(std::move(ended->out), wanted.encoding);
  out.err = to_wire(std::move(ended->err), wanted.encoding);
  out.survivors = ended->survivors;
  out.cwd = std::move(ended->cwd);
  out.restarted = ended->restarted;
  co_return out;
}

answer<proto::shell_close> close(core& c, rpc::call_context& call, proto::shell_params wanted) {
  auto finding = c.find_handle(call, proto::shell_close::name, wanted.session, kind, wanted.shell);
  auto found = co_await std::move(finding);
  if (!found) co_return fail(found.error());
  auto ending = found->handle->end();
  co_await std::move(ending);
  auto forgetting = async::call_on(c.registry.strand(),
                                   [session = found->where.session, id = wanted.shell] { session->handles.erase(id); });
  co_await std::move(forgetting);
  co_return proto::nothing();
}

}  // namespace

void register_shell_methods(core& c, rpc::method_table& table) {
  bind<proto::shell_open>(table, with(c, open));
  bind<proto::shell_run>(table, with(c, run), rpc::stop_style::ask);
  bind<proto::shell_close>(table, with(c, close));
}

}  // namespace sbx::api
