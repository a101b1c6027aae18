// workspace.*
#include <utility>

#include "daemon/api/bind.hpp"
#include "daemon/api/config.hpp"
#include "daemon/api/convert.hpp"
#include "daemon/api/core.hpp"

namespace sbx::api {

namespace {

using space_ptr = std::shared_ptr<workspace::workspace>;

proto::sandbox_entry describe_sandbox(const workspace::workspace& space) {
  proto::sandbox_entry out;
  out.generation = space.generation();
  if (const auto when = space.started_at()) out.started_at = time_text(*when);
  if (space.state() != workspace::sandbox_state::running) return out;
  if (const auto pid = space.box()->host_pid()) out.pid = *pid;
  out.container = space.box()->container();
  return out;
}

// On the registry's strand.
proto::workspace_entry describe(const workspace::hold& held) {
  const auto& space = *held.space;
  const auto& spec = space.spec();
  proto::workspace_entry out;
  out.workspace = space.id();
  for (const auto& root : spec.roots) out.roots.emplace_back(root.path);
  out.backend = to_wire(spec.backend);
  out.isolated = spec.backend != sandbox::backend_kind::none;
  out.state = static_cast<proto::workspace_state>(space.state());
  static_assert(static_cast<int>(proto::workspace_state::lost) == static_cast<int>(workspace::sandbox_state::lost));
  out.network = to_wire(spec.network);
  out.limits = to_wire(spec.limits);
  out.sandbox = describe_sandbox(space);
  out.name = held.name;
  if (!spec.image.empty()) out.image = spec.image;
  out.profile = held.profile;
  return out;
}

// The entry as this session sees it now, or no_such_handle when its hold is gone.
result<proto::workspace_entry> describe_held(const workspace::session& session, const std::string& id) {
  const auto found = session.holds.find(id);
  if (found == session.holds.end())
    return fail(error(error_kind::no_such_handle, "there is no such handle").with("handle", id));
  return describe(found->second);
}

result<workspace::open_request> to_request(const proto::workspace_open_params& wanted) {
  workspace::open_request out;
  if (wanted.roots)
    for (const auto& root : *wanted.roots) out.roots.push_back(root.value);
  if (wanted.copy_of) out.copy_of = wanted.copy_of->value;
  out.profile = wanted.profile;
  if (wanted.backend) out.backend = to_backend(*wanted.backend);
  out.image = wanted.image;
  if (wanted.network) {
    auto network = to_network(*wanted.network);
    if (!network) return fail(network.error());
    out.network = std::move(*network);
  }
  out.env = to_env(wanted.env);
  for (const auto& mount : wanted.mounts) out.mounts.push_back(to_mount(mount));
  if (wanted.limits) out.limits = to_limits(*wanted.limits);
  if (!wanted.user.absent()) out.user = to_user(wanted.user.value);
  out.name = wanted.name;
  out.keep = wanted.keep;
  return out;
}

async::task<result<void>> ask_about(place where, std::string_view method, std::optional<std::string> path) {
  if (where.to_ask.empty()) co_return result<void>();
  proto::policy_authorize_params what;
  what.method = method;
  what.session = where.session->id;
  if (where.hold.space) what.workspace = where.hold.space->id();
  what.path = std::move(path);
  auto asking = ask(std::move(where.to_ask), std::move(what));
  co_return co_await std::move(asking);
}

async::task<result<proto::workspace_entry>> open_on_strand(core& c, std::shared_ptr<workspace::session> session,
                                                           workspace::open_request request,
                                                           sandbox::progress_fn progress) {
  auto opening = c.registry.open_workspace(std::move(session), std::move(request), std::move(progress));
  auto held = co_await std::move(opening);
  if (!held) co_return fail(held.error());
  co_return describe(*held);
}

answer<proto::workspace_open> open(core& c, rpc::call_context& call, proto::workspace_open_params wanted) {
  auto request = to_request(wanted);
  if (!request) co_return fail(request.error());
  auto finding = c.find_place(call, proto::workspace_open::name, wanted.session, std::nullopt);
  auto where = co_await std::move(finding);
  if (!where) co_return fail(where.error());
  std::optional<std::string> path;
  if (request->copy_of) path = request->copy_of;
  if (!request->roots.empty()) path = request->roots.front();
  auto asking = ask_about(*where, proto::workspace_open::name, std::move(path));
  if (auto allowed = co_await std::move(asking); !allowed) co_return fail(allowed.error());
  auto opening = open_on_strand(c, where->session, std::move(*request), progress_to(call));
  auto there = async::on(c.registry.strand(), std::move(opening));
  co_return co_await std::move(there);
}

// A call about a workspace that is held: found, and allowed.
async::task<result<place>> find(core& c, rpc::call_context& call, std::string_view method,
                                proto::workspace_params wanted) {
  auto finding = c.find_place(call, method, wanted.session, wanted.workspace);
  auto where = co_await std::move(finding);
  if (!where) co_return fail(where.error());
  auto asking = ask_about(*where, method, std::nullopt);
  if (auto allowed = co_await std::move(asking); !allowed) co_return fail(allowed.error());
  co_return where;
}

answer<proto::workspace_get> get(core& c, rpc::call_context& call, proto::workspace_params wanted) {
  auto finding = find(c, call, proto::workspace_get::name, wanted);
  auto where = co_await std::move(finding);
  if (!where) co_return fail(where.error());
  auto looking = async::call_on(c.registry.strand(),
                                [where = *where, id = wanted.workspace] { return describe_held(*where.session, id); });
  co_return co_await std::move(looking);
}

answer<proto::workspace_list> list(core& c, rpc::call_context& call, proto::session_params wanted) {
  auto finding = c.find_place(call, proto::workspace_list::name, wanted.session, std::nullopt);
  auto where = co_await std::move(finding);
  if (!where) co_return fail(where.error());
  auto asking = ask_about(*where, proto::workspace_list::name, std::nullopt);
  if (auto allowed = co_await std::move(asking); !allowed) co_return fail(allowed.error());
  auto looking = async::call_on(c.registry.strand(), [where = *where] {
    proto::workspace_list_result out;
    for (const auto& [id, held] : where.session->holds) out.workspaces.push_back(describe(held));
    return out;
  });
  co_return co_await std::move(looking);
}

async::task<result<proto::workspace_entry>> start_on_strand(place where, sandbox::progress_fn progress) {
  const space_ptr space = where.hold.space;
  auto starting = space->ensure_started(std::move(progress));
  auto box = co_await std::move(starting);
  if (!box) co_return fail(box.error());
  co_return describe_held(*where.session, space->id());
}

answer<proto::workspace_start> start(core& c, rpc::call_context& call, proto::workspace_params wanted) {
  auto finding = find(c, call, proto::workspace_start::name, std::move(wanted));
  auto where = co_await std::move(finding);
  if (!where) co_return fail(where.error());
  auto starting = start_on_strand(*where, progress_to(call));
  auto there = async::on(c.registry.strand(), std::move(starting));
  co_return co_await std::move(there);
}

async::task<result<proto::workspace_entry>> restart_on_strand(place where) {
  const space_ptr space = where.hold.space;
  auto restarting = space->restart();
  co_await std::move(restarting);
  co_return describe_held(*where.session, space->id());
}

answer<proto::workspace_restart> restart(core& c, rpc::call_context& call, proto::workspace_params wanted) {
  auto finding = find(c, call, proto::workspace_restart::name, std::move(wanted));
  auto where = co_await std::move(finding);
  if (!where) co_return fail(where.error());
  auto restarting = restart_on_strand(*where);
  auto there = async::on(c.registry.strand(), std::move(restarting));
  co_return co_await std::move(there);
}

answer<proto::workspace_close> close(core& c, rpc::call_context& call, proto::workspace_params wanted) {
  auto finding = find(c, call, proto::workspace_close::name, wanted);
  auto where = co_await std::move(finding);
  if (!where) co_return fail(where.error());
  auto closing = c.registry.close_workspace(where->session, wanted.workspace);
  auto there = async::on(c.registry.strand(), std::move(closing));
  auto closed = co_await std::move(there);
  if (!closed) co_return fail(closed.error());
  proto::workspace_close_result out;
  out.ended = closed->ended;
  out.removed = closed->removed;
  co_return out;
}

proto::process_entry describe_process(const sandbox::process_info& seen, const workspace::workspace& space,
                                      const std::string& session) {
  proto::process_entry out;
  out.pid = seen.pid;
  out.ppid = seen.ppid;
  out.state = std::string(1, seen.state);
  out.rss_bytes = seen.rss_bytes;
  out.cpu_ms = seen.cpu_ms;
  if (seen.leader == 0) return out;
  const auto known = space.find_tracked(session, seen.leader);
  if (!known) return out;
  out.argv.emplace();
  for (const auto& word : seen.argv) out.argv->emplace_back(word);
  if (!known->handle.empty()) out.job = known->handle;
  return out;
}

async::task<result<proto::workspace_processes_result>> processes_on_strand(place where) {
  proto::workspace_processes_result out;
  const space_ptr space = where.hold.space;
  if (space->state() != workspace::sandbox_state::running) co_return out;
  const auto box = space->box();
  auto listing = box->processes();
  const auto seen = co_await std::move(listing);
  if (!seen) co_return fail(seen.error());
  for (const auto& process : *seen) out.processes.push_back(describe_process(process, *space, where.session->id));
  co_return out;
}

answer<proto::workspace_processes> processes(core& c, rpc::call_context& call, proto::workspace_params wanted) {
  auto finding = find(c, call, proto::workspace_processes::name, std::move(wanted));
  auto where = co_await std::move(finding);
  if (!where) co_return fail(where.error());
  auto listing = processes_on_strand(*where);
  auto there = async::on(c.registry.strand(), std::move(listing));
  co_return co_await std::move(there);
}

}  // namespace

void register_workspace_methods(core& c, rpc::method_table& table) {
  bind<proto::workspace_open>(table, with(c, open));
  bind<proto::workspace_get>(table, with(c, get));
  bind<proto::workspace_list>(table, with(c, list));
  bind<proto::workspace_start>(table, with(c, start));
  bind<proto::workspace_restart>(table, with(c, restart));
  bind<proto::workspace_close>(table, with(c, close));
  bind<proto::workspace_processes>(table, with(c, processes));
}

}  // namespace sbx::api
