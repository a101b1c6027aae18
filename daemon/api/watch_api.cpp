#include "daemon/api/watch_api.hpp"

#include <utility>

#include "daemon/api/bind.hpp"
#include "daemon/api/fs_call.hpp"
#include "daemon/fs/watch.hpp"
#include "daemon/workspace/handle_id.hpp"
#include "proto/codec.hpp"

namespace sbx::api {

namespace {

constexpr auto kind = workspace::handle_kind::watch;

// Told to one connection, and gone with it.
class watch_handle final : public workspace::handle {
 public:
  watch_handle(std::string id, std::string workspace, async::asio::any_io_executor connection)
      : handle(workspace::handle_kind::watch, std::move(id), std::move(workspace)),
        connection_(std::move(connection)) {}

  async::task<void> end() override {
    ended_ = true;
    auto cancelling = async::call_on(connection_, [this] { telling.cancel(); });
    co_await std::move(cancelling);
  }
  bool active() const override { return !ended_; }

  async::task_group::handle telling;  // on the connection's strand

 private:
  async::asio::any_io_executor connection_;
  std::atomic<bool> ended_ = false;
};

// Takes the handle out of its session when the telling ends, whatever ends it.
class forgetting {
 public:
  forgetting(core& c, std::shared_ptr<workspace::session> session, std::string id)
      : core_(c), session_(std::move(session)), id_(std::move(id)) {}
  ~forgetting() {
    async::asio::post(core_.registry.strand(),
                      [session = std::move(session_), id = std::move(id_)] { session->handles.erase(id); });
  }
  forgetting(const forgetting&) = delete;
  forgetting& operator=(const forgetting&) = delete;

 private:
  core& core_;
  std::shared_ptr<workspace::session> session_;
  std::string id_;
};

proto::fs_changed_note to_note(const std::string& id, fs::change_batch batch) {
  proto::fs_changed_note out;
  out.watch = id;
  out.overflow = batch.overflow;
  for (auto& each : batch.events) {
    proto::fs_change change;
    change.path = std::move(each.path);
    change.event = static_cast<proto::change_event>(each.kind);
    static_assert(static_cast<int>(proto::change_event::removed) == static_cast<int>(fs::change_kind::removed));
    out.events.push_back(std::move(change));
  }
  return out;
}

// A client that does not take its notifications loses some, and is told.
async::task<void> tell(core& c, std::shared_ptr<rpc::peer> peer, std::shared_ptr<workspace::session> session,
                       std::string id, std::string key, std::shared_ptr<fs::watch_tree> tree) {
  const forgetting at_the_end(c, std::move(session), id);
  fs::watcher watcher(peer->strand(), c.pool, std::move(key), std::move(tree));
  bool lost = false;
  for (;;) {
    auto coming = watcher.next();
    fs::change_batch batch = co_await std::move(coming);
    const bool ended = batch.ended;
    batch.overflow = batch.overflow || lost;
    lost = !peer->notify(proto::fs_changed_note::name, proto::encode_text(to_note(id, std::move(batch))));
    if (lost) {
      auto waiting = peer->room();
      if (!co_await std::move(waiting)) co_return;
      if (ended) {
        proto::fs_changed_note last;
        last.watch = id;
        last.overflow = true;
        peer->notify(proto::fs_changed_note::name, proto::encode_text(last));
      }
    }
    if (ended) co_return;
  }
}

answer<proto::fs_watch> watch(core& c, rpc::call_context& call, proto::fs_watch_params wanted) {
  fs_subject about;
  about.path = wanted.path;
  auto finding = find_files(c, call, proto::fs_watch::name, wanted, std::move(about));
  auto at = co_await std::move(finding);
  if (!at) co_return fail(at.error());
  fs::watch_request request;
  request.path = wanted.path;
  request.recursive = wanted.recursive;
  const fs::call how = make_call(c, call);
  auto opening = c.pool.run(at->key, [roots = at->roots, request, how](const async::stop_flag& stop) {
    fs::call own = how;
    own.stop = stop;
    return fs::open_watch(roots, request, own);
  });
  auto tree = co_await std::move(opening);
  if (!tree) co_return fail(tree.error());
  auto handle = std::make_shared<watch_handle>(workspace::make_handle("wat-"), at->key, call.connection()->strand());
  const std::string id = handle->id();
  const auto session = at->where.session;
  auto adding = async::call_on(c.registry.strand(), [&c, session, handle]() -> result<void> {
    return c.registry.add_handle(*session, handle, c.registry.known().max_watches);
  });
  if (auto added = co_await std::move(adding); !added) co_return fail(added.error());
  handle->telling = call.connection()->tasks().spawn(
      "telling of changes", tell(c, call.connection(), session, id, at->key, std::move(*tree)));
  if (!handle->active()) handle->telling.cancel();  // ended before it was told of
  proto::fs_watch_result out;
  out.watch = id;
  co_return out;
}

answer<proto::fs_unwatch> unwatch(core& c, rpc::call_context& call, proto::fs_unwatch_params wanted) {
  auto finding = c.find_handle(call, proto::fs_unwatch::name, wanted.session, kind, wanted.watch);
  auto found = co_await std::move(finding);
  if (!found) co_return fail(found.error());
  auto ending = async::call_on(c.registry.strand(),
                               [session = found->where.session, id = wanted.watch] { session->handles.erase(id); });
  co_await std::move(ending);
  auto stopping = found->handle->end();
  co_await std::move(stopping);
  co_return proto::nothing();
}

}  // namespace

void register_watch_methods(core& c, rpc::method_table& table) {
  bind<proto::fs_watch>(table, with(c, watch));
  bind<proto::fs_unwatch>(table, with(c, unwatch));
}

}  // namespace sbx::api
