// session.*
#include <utility>

#include "daemon/api/bind.hpp"
#include "daemon/api/convert.hpp"
#include "daemon/api/core.hpp"

namespace sbx::api {

namespace {

answer<proto::session_open> open(core& c, rpc::call_context&, proto::session_open_params wanted) {
  auto opening = async::call_on(c.registry.strand(), [&c, wanted]() -> result<std::string> {
    auto made = c.registry.open_session(wanted.name, to_ms(wanted.detach_ttl_ms));
    if (!made) return fail(made.error());
    return (*made)->id;
  });
  auto id = co_await std::move(opening);
  if (!id) co_return fail(id.error());
  proto::session_open_result out;
  out.session = std::move(*id);
  co_return out;
}

answer<proto::session_attach> attach(core& c, rpc::call_context& call, proto::session_attach_params wanted) {
  const auto data = core::data_of(call);
  auto attaching = async::call_on(c.registry.strand(), [&c, data, id = wanted.session]() -> result<void> {
    auto found = c.session_of(*data, id);
    if (!found) return fail(found.error());
    if (data->attached == *found || data->closed) return {};
    if (data->attached) c.registry.detach(data->attached);
    data->attached.reset();
    if (*found == data->own) return {};
    data->attached = *found;
    c.registry.attach(data->attached);
    return {};
  });
  if (auto done = co_await std::move(attaching); !done) co_return fail(done.error());
  co_return proto::nothing();
}

async::task<result<std::vector<std::string>>> close_on_strand(core& c, std::shared_ptr<connection_data> data,
                                                              std::optional<std::string> named) {
  auto found = c.session_of(*data, named);
  if (!found) co_return fail(found.error());
  auto closing = c.registry.close_session(*found);
  co_return co_await std::move(closing);
}

answer<proto::session_close> close(core& c, rpc::call_context& call, proto::session_params wanted) {
  auto closing = close_on_strand(c, core::data_of(call), wanted.session);
  auto there = async::on(c.registry.strand(), std::move(closing));
  auto ended = co_await std::move(there);
  if (!ended) co_return fail(ended.error());
  proto::session_close_result out;
  out.ended = std::move(*ended);
  co_return out;
}

answer<proto::session_get> get(core& c, rpc::call_context& call, proto::session_params wanted) {
  const auto data = core::data_of(call);
  auto looking = async::call_on(c.registry.strand(), [&c, data, wanted]() -> result<proto::session_get_result> {
    auto found = c.session_of(*data, wanted.session);
    if (!found) return fail(found.error());
    const auto& session = **found;
    proto::session_get_result out;
    out.session = session.id;
    out.name = session.name;
    for (const auto& [id, held] : session.handles) out.handles.push_back(id);
    for (const auto& [id, held] : session.holds) out.workspaces.push_back(id);
    out.connections = session.attached;
    if (session.detach_ttl) out.detach_ttl_ms = session.detach_ttl->count();
    return out;
  });
  co_return co_await std::move(looking);
}

}  // namespace

void register_session_methods(core& c, rpc::method_table& table) {
  bind<proto::session_open>(table, with(c, open));
  bind<proto::session_attach>(table, with(c, attach));
  bind<proto::session_close>(table, with(c, close));
  bind<proto::session_get>(table, with(c, get));
}

}  // namespace sbx::api
