#include "daemon/api/core.hpp"

#include <boost/asio/dispatch.hpp>

#include "proto/codec.hpp"

namespace sbx::api {

core::core(async::asio::io_context& context_, async::blocking_pool& pool_, workspace::registry& registry_,
           mode_t umask_)
    : context(context_),
      pool(pool_),
      registry(registry_),
      umask(umask_),
      edit_bytes_max_(registry_.known().edit_bytes),
      retain_bytes_(registry_.known().retain_bytes),
      tasks_(registry_.strand()) {}

void core::change_settings(workspace::settings known) {
  edit_bytes_max_ = known.edit_bytes;
  retain_bytes_ = known.retain_bytes;
  registry.change_settings(std::move(known));
}

std::shared_ptr<connection_data> core::data_of(rpc::call_context& context) {
  return std::static_pointer_cast<connection_data>(context.connection()->state);
}

result<std::shared_ptr<workspace::session>> core::session_of(connection_data& connection,
                                                             const std::optional<std::string>& named) {
  if (named) {
    if (connection.own && connection.own->id == *named && !connection.own->ending) return connection.own;
    return registry.find_session(*named);
  }
  if (connection.attached) {
    if (!connection.attached->ending) return connection.attached;
    connection.attached.reset();
  }
  if (connection.own && !connection.own->ending) return connection.own;
  if (connection.closed) return fail(error_kind::cancelled, "The connection has ended.");
  auto made = registry.open_session(std::nullopt, std::nullopt);
  if (!made) return made;
  connection.own = *made;
  registry.attach(connection.own);
  return made;
}

async::task<result<place>> core::find_place(rpc::call_context& call, std::string_view method,
                                            std::optional<std::string> session, std::optional<std::string> workspace) {
  const auto data = data_of(call);
  const std::uint64_t number = call.connection()->number();
  auto finding = async::call_on(
      registry.strand(),
      [this, data, number, method, session = std::move(session), workspace = std::move(workspace)]() -> result<place> {
        place out;
        auto found = session_of(*data, session);
        if (!found) return fail(found.error());
        out.session = std::move(*found);
        if (workspace) {
          auto held = out.session->find_hold(*workspace);
          if (!held) return fail(held.error());
          out.hold = **held;
        }
        out.to_ask = policy.matching(method, out.session, number);
        return out;
      });
  co_return co_await std::move(finding);
}

async::task<result<core::found_handle>> core::find_handle(rpc::call_context& call, std::string_view method,
                                                          std::optional<std::string> session,
                                                          workspace::handle_kind kind, std::string id,
                                                          std::optional<std::string> command) {
  const auto data = data_of(call);
  const std::uint64_t number = call.connection()->number();
  auto finding = async::call_on(
      registry.strand(),
      [this, data, number, method, kind, session = std::move(session), id = std::move(id)]() -> result<found_handle> {
        found_handle out;
        auto found = session_of(*data, session);
        if (!found) return fail(found.error());
        out.where.session = std::move(*found);
        auto held = out.where.session->find_handle(kind, id);
        if (!held) return fail(held.error());
        out.handle = std::move(*held);
        out.where.to_ask = policy.matching(method, out.where.session, number);
        return out;
      });
  auto found = co_await std::move(finding);
  if (!found || found->where.to_ask.empty()) co_return found;
  proto::policy_authorize_params what;
  what.method = method;
  what.session = found->where.session->id;
  what.workspace = found->handle->workspace();
  what.handle = found->handle->id();
  what.command = std::move(command);
  auto asking = ask(found->where.to_ask, std::move(what));
  if (auto allowed = co_await std::move(asking); !allowed) co_return fail(allowed.error());
  co_return found;
}

async::strand core::make_strand() {
  return async::asio::make_strand(context);
}

sandbox::progress_fn progress_to(rpc::call_context& call) {
  if (!call.id()) return {};
  return [peer = call.connection(), id = *call.id()](std::string phase, std::string message,
                                                     std::optional<std::int64_t> done,
                                                     std::optional<std::int64_t> total) {
    proto::progress_note note;
    note.id = id;
    note.phase = std::move(phase);
    note.message = std::move(message);
    note.done = done;
    note.total = total;
    async::asio::dispatch(peer->strand(),
                          [peer, text = proto::encode_text(note)] { peer->notify(proto::progress_note::name, text); });
  };
}

namespace {

// The private session ends with its connection; an opened one lives on.
async::task<void> end_connection(core& c, std::shared_ptr<connection_data> data) {
  data->closed = true;
  if (data->attached) c.registry.detach(data->attached);
  data->attached.reset();
  if (const auto own = std::move(data->own)) {
    c.registry.detach(own);
    auto closing = c.registry.close_session(own);
    co_await std::move(closing);
  }
}

async::task<void> connection_closed(core& c, std::shared_ptr<rpc::peer> peer) {
  const auto data = std::static_pointer_cast<connection_data>(peer->state);
  if (!data) co_return;
  auto ending = end_connection(c, data);
  auto there = async::on(c.registry.strand(), std::move(ending));
  co_await std::move(there);
}

}  // namespace

rpc::connection_hooks connection_hooks(core& c) {
  rpc::connection_hooks hooks;
  hooks.opened = [](rpc::peer& peer) { peer.state = std::make_shared<connection_data>(); };
  hooks.closed = [&c](std::shared_ptr<rpc::peer> peer) { return connection_closed(c, std::move(peer)); };
  return hooks;
}

async::task<void> fill_stats(core& c, proto::stats_result& into) {
  auto counting = async::call_on(c.registry.strand(), [&c] { return c.registry.count(); });
  const auto found = co_await std::move(counting);
  into.sessions = static_cast<std::int64_t>(found.sessions);
  into.workspaces = static_cast<std::int64_t>(found.workspaces);
  into.sandboxes = static_cast<std::int64_t>(found.sandboxes);
  into.jobs = static_cast<std::int64_t>(found.jobs);
  into.ptys = static_cast<std::int64_t>(found.ptys);
  into.shells = static_cast<std::int64_t>(found.shells);
  into.watches = static_cast<std::int64_t>(found.watches);
  into.processes_started = c.processes_started;
  into.bytes_drained = c.bytes_drained;
}

}  // namespace sbx::api
