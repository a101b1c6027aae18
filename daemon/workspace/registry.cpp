#include "daemon/workspace/registry.hpp"

#include <boost/asio/strand.hpp>

#include "daemon/async/run.hpp"
#include "daemon/workspace/handle_id.hpp"

namespace sbx::workspace {

namespace {

error too_many(const char* limit, std::size_t max) {
  return error(error_kind::limit, "there are too many of them")
      .with("limit", std::string(limit))
      .with("max", static_cast<std::int64_t>(max));
}

error shutting_down() {
  return error(error_kind::shutting_down, "the daemon is shutting down").with("retryable", true);
}

}  // namespace

registry::registry(async::asio::io_context& context, async::blocking_pool& pool, sandbox::backend_set backends,
                   registry_options options)
    : context_(context),
      strand_(async::asio::make_strand(context)),
      pool_(pool),
      backends_(std::move(backends)),
      options_(std::move(options)),
      tasks_(strand_) {}

registry::~registry() = default;

void registry::change_settings(settings known) {
  options_.known = std::move(known);
}

result<std::shared_ptr<session>> registry::open_session(std::optional<std::string> name,
                                                        std::optional<std::chrono::milliseconds> detach_ttl) {
  if (shutting_down_) return fail(shutting_down());
  if (detach_ttl && sessions_.size() >= options_.known.sessions)
    return fail(too_many("sessions", options_.known.sessions));
  auto made = std::make_shared<session>(make_handle("ses-"), strand_);
  made->name = std::move(name);
  made->detach_ttl = detach_ttl;
  sessions_.emplace(made->id, made);
  if (detach_ttl) arm_ttl(made);
  return made;
}

result<std::shared_ptr<session>> registry::find_session(const std::string& id) {
  const auto found = sessions_.find(id);
  if (found == sessions_.end() || found->second->ending) return fail(no_such_handle(id));
  if (found->second->attached == 0) arm_ttl(found->second);
  return found->second;
}

void registry::attach(const std::shared_ptr<session>& to) {
  ++to->attached;
  to->ttl_timer.cancel();
}

void registry::detach(const std::shared_ptr<session>& from) {
  if (--from->attached == 0 && !from->ending) arm_ttl(from);
}

void registry::arm_ttl(const std::shared_ptr<session>& idle) {
  if (!idle->detach_ttl) return;
  idle->ttl_timer.expires_after(*idle->detach_ttl);
  idle->ttl_timer.async_wait([this, weak = std::weak_ptr(idle)](boost::system::error_code failed) {
    auto old = weak.lock();
    if (failed || !old || old->attached > 0 || old->ending) return;
    if (old->ttl_timer.expiry() > std::chrono::steady_clock::now()) return;  // used in the meantime
    tasks_.spawn("an expired session", [](registry* self, std::shared_ptr<session> ending) -> async::task<void> {
      auto closing = self->close_session(std::move(ending));
      co_await std::move(closing);
    }(this, std::move(old)));
  });
}

async::task<std::vector<std::string>> registry::close_session(std::shared_ptr<session> ending) {
  std::vector<std::string> ended;
  if (ending->ending) co_return ended;
  ending->ending = true;
  ending->ttl_timer.cancel();
  for (const auto& [id, held] : ending->handles) ended.push_back(id);
  const auto handles = std::move(ending->handles);
  ending->handles.clear();
  {
    async::task_group all(strand_);
    for (const auto& [id, held] : handles) all.spawn("ending a handle", held->end());
    auto joining = all.join();
    co_await std::move(joining);
  }
  const auto holds = std::move(ending->holds);
  ending->holds.clear();
  for (const auto& [id, held] : holds) {
    bool removed = false;
    auto releasing = release(held.space, ending->id, removed);
    if (co_await std::move(releasing)) ended.push_back(id);
  }
  sessions_.erase(ending->id);
  co_return ended;
}

result<std::shared_ptr<workspace>> registry::find_same(const prepared& wanted) {
  for (const auto& [id, space] : workspaces_) {
    if (space->identity() == wanted.identity) return space;
    // The same directories with other settings, or an overlap of the same set: one sandbox would not be one world.
    const auto bar = space->identity().find('|');
    if (space->identity().compare(0, bar, wanted.roots_identity) == 0)
      return fail(error_kind::conflict, "these roots are open with other settings");
  }
  return std::shared_ptr<workspace>();
}

async::task<result<std::shared_ptr<workspace>>> registry::find_or_make(open_request request,
                                                                       sandbox::progress_fn progress) {
  auto walls = effective_walls(request, options_.known);
  if (!walls) co_return fail(walls.error());
  const auto backend = backends_.find(walls->backend);
  if (backend == backends_.end()) co_return fail(error_kind::unsupported, "this backend is not built in");
  // Before anything is copied; what roots and mounts add is judged below.
  if (auto fits = backend->second->accepts(spec_of(*walls)); !fits) co_return fail(fits.error());
  fs::call how;
  how.umask = options_.umask;
  how.progress = [progress](std::int64_t done, std::int64_t total) {
    if (progress) progress("copy", "copying the directory", done, total);
  };
  auto preparing = pool_.run("workspace.open",
                             [request, walls = *walls, paths = options_.paths, allowed = options_.known.allowed_roots,
                              copies = options_.paths.copies, how](const async::stop_flag&) mutable {
                               return prepare(request, walls, root_rules(paths, allowed), copies, how);
                             });
  auto ready = co_await std::move(preparing);
  if (!ready) co_return fail(ready.error());
  if (shutting_down_) co_return fail(shutting_down());
  if (auto fits = backend->second->accepts(ready->spec); !fits) co_return fail(fits.error());
  auto same = find_same(*ready);
  if (!same) co_return fail(same.error());
  if (*same) co_return *same;
  if (workspaces_.size() >= options_.known.workspaces)
    co_return fail(too_many("workspaces", options_.known.workspaces));
  const std::string id = make_handle("ws-");
  ready->spec.workspace = id;
  auto made = std::make_shared<workspace>(id, strand_, backend->second, std::move(ready->spec), ready->roots, *walls,
                                          ready->identity);
  if (ready->copy) made->own(ready->copy, request.keep);
  workspaces_.emplace(id, made);
  co_return made;
}

async::task<result<hold>> registry::open_workspace(std::shared_ptr<session> by, open_request request,
                                                   sandbox::progress_fn progress) {
  if (shutting_down_) co_return fail(shutting_down());
  hold made;
  made.env = request.env;
  if (const auto walls = options_.known.profiles.find(request.profile); walls != options_.known.profiles.end())
    made.profile_env = walls->second.env;
  made.name = request.name;
  made.profile = request.profile;
  auto finding = find_or_make(std::move(request), std::move(progress));
  auto space = co_await std::move(finding);
  if (!space) co_return fail(space.error());
  if (by->ending) {
    // The session ended meanwhile: a workspace made for it alone is not kept.
    bool removed = false;
    ++(*space)->holds;
    auto releasing = release(*space, by->id, removed);
    co_await std::move(releasing);
    co_return fail(no_such_handle(by->id));
  }
  made.space = *space;
  const auto [place, fresh] = by->holds.insert_or_assign((*space)->id(), made);
  if (fresh) ++(*space)->holds;
  co_return made;
}

async::task<bool> registry::release(std::shared_ptr<workspace> space, std::string session, bool& removed) {
  if (--space->holds > 0) {
    auto stopping = space->stop_session(std::move(session));
    co_await std::move(stopping);
    co_return false;
  }
  workspaces_.erase(space->id());
  auto ending = space->end();
  co_await std::move(ending);
  if (auto copy = space->take_copy()) {
    auto removing = pool_.run("copies", [copy](const async::stop_flag&) { return copy->remove().has_value(); });
    removed = co_await std::move(removing);
  }
  co_return true;
}

async::task<result<registry::closed_workspace>> registry::close_workspace(std::shared_ptr<session> by, std::string id) {
  auto held = by->find_hold(id);
  if (!held) co_return fail(held.error());
  const auto space = (*held)->space;
  by->holds.erase(id);
  {
    async::task_group all(strand_);
    for (auto at = by->handles.begin(); at != by->handles.end();) {
      if (at->second->workspace() != id) {
        ++at;
        continue;
      }
      all.spawn("ending a handle", at->second->end());
      at = by->handles.erase(at);
    }
    auto joining = all.join();
    co_await std::move(joining);
  }
  closed_workspace out;
  auto releasing = release(space, by->id, out.removed);
  out.ended = co_await std::move(releasing);
  co_return out;
}

result<void> registry::add_handle(session& to, std::shared_ptr<handle> made, std::size_t active_max) {
  if (to.ending) return fail(no_such_handle(to.id));
  if (to.count_active(made->kind()) >= active_max) {
    static constexpr const char* names[] = {"max_jobs", "max_ptys", "max_shells", "max_watches"};
    return fail(too_many(names[static_cast<int>(made->kind())], active_max));
  }
  to.handles.emplace(made->id(), std::move(made));
  return {};
}

registry::gauges registry::count() const {
  gauges out;
  out.sessions = sessions_.size();
  out.workspaces = workspaces_.size();
  for (const auto& [id, space] : workspaces_) out.sandboxes += space->state() == sandbox_state::running;
  for (const auto& [id, known] : sessions_) {
    for (const auto& [handle_id, held] : known->handles) {
      switch (held->kind()) {
        case handle_kind::job:
          ++out.jobs;
          break;
        case handle_kind::pty:
          ++out.ptys;
          break;
        case handle_kind::shell:
          ++out.shells;
          break;
        case handle_kind::watch:
          ++out.watches;
          break;
      }
    }
  }
  return out;
}

async::task<void> registry::shut_down() {
  shutting_down_ = true;
  const auto sessions = sessions_;
  async::task_group all(strand_);
  for (const auto& [id, known] : sessions) {
    all.spawn("closing a session", [](registry* self, std::shared_ptr<session> ending) -> async::task<void> {
      auto closing = self->close_session(std::move(ending));
      co_await std::move(closing);
    }(this, known));
  }
  auto joining = all.join();
  co_await std::move(joining);
  tasks_.cancel();
  auto rest = tasks_.join();
  co_await std::move(rest);
}

}  // namespace sbx::workspace
