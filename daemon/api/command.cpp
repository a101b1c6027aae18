#include "daemon/api/command.hpp"

#include <utility>

#include "daemon/api/config.hpp"

namespace sbx::api {

command_wish::command_wish(const proto::command_params& from) : line(from.command), env(to_env(from.env)) {
  if (from.argv) {
    argv.emplace();
    for (const auto& word : *from.argv) argv->push_back(word.value);
  }
  if (from.cwd) cwd = from.cwd->value;
}

namespace {

std::string absolute_cwd(const fs::root_set& roots, const std::optional<std::string>& cwd) {
  const std::string& first = roots.at(0).path;
  if (!cwd || cwd->empty()) return first;
  if (cwd->front() == '/') return *cwd;
  return first + "/" + *cwd;
}

}  // namespace

process::command make_command(const workspace::hold& held, const command_wish& wish, const sandbox::sandbox& box) {
  const fs::root_set& roots = *held.space->roots();
  process::command out;
  out.cwd = absolute_cwd(roots, wish.cwd);
  for (const auto& root : roots.roots()) out.cwd_roots.push_back(root.path);
  const std::vector<const process::env_changes*> layers{&held.profile_env, &held.env, &wish.env};
  out.env = process::make_environment(box, wish.terminal, layers);
  return out;
}

async::task<result<void>> check_roots(core& c, std::shared_ptr<const fs::root_set> roots) {
  if (roots->local()) co_return roots->check_present();
  auto checking = c.pool.run("roots", [roots](const async::stop_flag&) { return roots->check_present(); });
  co_return co_await std::move(checking);
}

async::task<result<ready_command>> prepare_command(core& c, place where, command_wish wish,
                                                   sandbox::progress_fn progress) {
  const auto space = where.hold.space;
  auto checking = check_roots(c, space->roots());
  if (auto present = co_await std::move(checking); !present) co_return fail(present.error());
  auto starting = space->ensure_started(std::move(progress));
  auto box = co_await std::move(starting);
  if (!box) co_return fail(box.error());
  ready_command out;
  out.box = std::move(*box);
  out.command = make_command(where.hold, wish, *out.box);
  if (wish.line) {
    auto choosing = space->shell(out.box);
    out.command.argv = co_await std::move(choosing);
    out.command.argv.push_back(std::move(*wish.line));
    out.command.search_path = process::own_path(*out.box);
  } else {
    out.command.argv = std::move(*wish.argv);
  }
  co_return out;
}

async::task<result<void>> ask_about_command(place where, std::string_view method, command_wish wish) {
  if (where.to_ask.empty()) co_return result<void>();
  proto::policy_authorize_params what;
  what.method = method;
  what.session = where.session->id;
  what.workspace = where.hold.space->id();
  if (wish.argv) {
    what.argv.emplace();
    for (const auto& word : *wish.argv) what.argv->emplace_back(word);
  }
  what.command = wish.line;
  what.cwd = absolute_cwd(*where.hold.space->roots(), wish.cwd);
  auto asking = ask(where.to_ask, std::move(what));
  co_return co_await std::move(asking);
}

}  // namespace sbx::api
