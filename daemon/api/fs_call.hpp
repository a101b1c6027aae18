// How the fs methods reach the file system: found, allowed, then inline where that cannot block, else in the pool.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "daemon/api/core.hpp"
#include "daemon/fs/file_ops.hpp"

namespace sbx::api {

struct fs_place {
  fs_place() = default;
  place where;
  std::shared_ptr<const fs::root_set> roots;
  std::string key;  // of the pool
};

// What the authorizers are told: paths as the caller gave them, which are resolved before anybody is asked.
struct fs_subject {
  fs_subject() = default;
  std::optional<std::string> path, to;
  fs::last_link last = fs::last_link::follow;
};

async::task<result<fs_place>> find_files(core& c, rpc::call_context& call, std::string_view method,
                                         proto::workspace_params names, fs_subject subject);

fs::call make_call(core& c, rpc::call_context& call);

// `job` is called as job(const fs::root_set&, const fs::call&) and answers a result. Twice when the first try, on the
// reactor, would have blocked: it is copied for that.
template <class Job, class R = std::invoke_result_t<Job, const fs::root_set&, const fs::call&>>
async::task<R> run_files(core& c, rpc::call_context& call, fs_place at, Job job) {
  fs::call how = make_call(c, call);
  if (at.roots->local()) {
    how.on_reactor = true;
    R quick = job(*at.roots, how);
    if (quick || !fs::would_block(quick.error())) co_return quick;
    how.on_reactor = false;
  }
  auto running = c.pool.run(at.key, [roots = at.roots, how, job](const async::stop_flag& stop) mutable {
    how.stop = stop;
    return job(*roots, how);
  });
  co_return co_await std::move(running);
}

}  // namespace sbx::api
