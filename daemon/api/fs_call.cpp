#include "daemon/api/fs_call.hpp"

namespace sbx::api {

namespace {

async::task<result<std::string>> absolute_path(core& c, rpc::call_context& call, fs_place at, std::string path,
                                               fs::last_link last) {
  auto locating =
      run_files(c, call, at, [path, last](const fs::root_set& roots, const fs::call& how) -> result<std::string> {
        const auto found = fs::locate(roots, path, last, how);
        if (!found) return fail(found.error());
        return roots.absolute_path(*found);
      });
  co_return co_await std::move(locating);
}

}  // namespace

fs::call make_call(core& c, rpc::call_context& call) {
  fs::call out;
  out.umask = c.umask;
  out.edit_bytes_max = c.edit_bytes_max();
  if (const auto tell = progress_to(call))
    out.progress = [tell](std::int64_t done, std::int64_t total) { tell("copy", "copying", done, total); };
  return out;
}

async::task<result<fs_place>> find_files(core& c, rpc::call_context& call, std::string_view method,
                                         proto::workspace_params names, fs_subject subject) {
  auto finding = c.find_place(call, method, names.session, names.workspace);
  auto where = co_await std::move(finding);
  if (!where) co_return fail(where.error());
  fs_place out;
  out.where = std::move(*where);
  out.roots = out.where.hold.space->roots();
  out.key = out.where.hold.space->id();
  if (out.where.to_ask.empty()) co_return out;
  proto::policy_authorize_params what;
  what.method = method;
  what.session = out.where.session->id;
  what.workspace = out.key;
  if (subject.path) {
    auto locating = absolute_path(c, call, out, *subject.path, subject.last);
    auto path = co_await std::move(locating);
    if (!path) co_return fail(path.error());
    what.path = std::move(*path);
  }
  if (subject.to) {
    auto locating = absolute_path(c, call, out, *subject.to, fs::last_link::keep);
    auto path = co_await std::move(locating);
    if (!path) co_return fail(path.error());
    what.to = std::move(*path);
  }
  auto asking = ask(out.where.to_ask, std::move(what));
  if (auto allowed = co_await std::move(asking); !allowed) co_return fail(allowed.error());
  co_return out;
}

}  // namespace sbx::api
