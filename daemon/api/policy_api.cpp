// policy.*
#include <utility>

#include "daemon/api/bind.hpp"
#include "daemon/api/convert.hpp"
#include "daemon/api/core.hpp"

namespace sbx::api {

namespace {

// On the registry's strand.
result<std::string> add(core& c, connection_data& data, std::shared_ptr<rpc::peer> peer,
                        const proto::policy_register_params& wanted) {
  authorizers::entry made;
  if (wanted.all_sessions) {
    if (!c.registry.known().policy_all_sessions)
      return fail(error(error_kind::denied, "The configuration does not allow an authorizer of all sessions.")
                      .with("reason", std::string("policy.all_sessions is not set")));
    made.all_sessions = true;
  } else if (wanted.session || !wanted.authorizer) {
    auto session = c.session_of(data, wanted.session);
    if (!session) return fail(session.error());
    made.session = *session;
  }
  made.methods = wanted.methods;
  made.timeout = to_ms(wanted.timeout_ms);
  made.connection = std::move(peer);
  return c.policy.add(std::move(made), wanted.authorizer);
}

answer<proto::policy_register> enlist(core& c, rpc::call_context& call, proto::policy_register_params wanted) {
  auto adding = async::call_on(c.registry.strand(), [&c, data = core::data_of(call), peer = call.connection(), wanted] {
    return add(c, *data, peer, wanted);
  });
  auto id = co_await std::move(adding);
  if (!id) co_return fail(id.error());
  proto::policy_register_result out;
  out.authorizer = std::move(*id);
  co_return out;
}

answer<proto::policy_unregister> retire(core& c, rpc::call_context&, proto::policy_unregister_params wanted) {
  auto removing = async::call_on(c.registry.strand(), [&c, id = wanted.authorizer] { return c.policy.remove(id); });
  if (auto done = co_await std::move(removing); !done) co_return fail(done.error());
  co_return proto::nothing();
}

}  // namespace

void register_policy_methods(core& c, rpc::method_table& table) {
  bind<proto::policy_register>(table, with(c, enlist));
  bind<proto::policy_unregister>(table, with(c, retire));
}

}  // namespace sbx::api
