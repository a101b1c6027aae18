#include "daemon/fs/watch.hpp"

#include <fcntl.h>
#include <sys/inotify.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <chrono>

#include "daemon/async/blocking_pool.hpp"
#include "daemon/fs/errors.hpp"
#include "daemon/fs/watch_tree.hpp"

namespace sbx::fs {
namespace {

constexpr std::chrono::milliseconds gather_time(20);

// The directory to watch, and for a file its name in it: its own inode goes when an editor replaces it.
result<place> watched_directory(const root_set& roots, const watch_request& request, const call& how,
                                std::string& file_name) {
  resolve_options options(last_link::follow, wants::object, intent::look);
  options.empty_is_root = true;
  auto found = resolve(roots, request.path, options, how);
  if (!found || found->is_directory()) return found;
  file_name = found->name;
  const std::string& relative = found->where.relative;
  const std::size_t slash = relative.rfind('/');
  const location parent(found->where.root_index,
                        slash == std::string::npos ? std::string() : relative.substr(0, slash));
  return resolve(roots, roots.absolute_path(parent), options, how);
}

}  // namespace

result<std::shared_ptr<watch_tree>> open_watch(std::shared_ptr<const root_set> roots, const watch_request& request,
                                               const call& how) {
  std::string file_name;
  auto directory = watched_directory(*roots, request, how, file_name);
  if (!directory) return fail(std::move(directory.error()));
  sys::unique_fd inotify(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!inotify && (errno == EMFILE || errno == ENOSPC)) {
    return fail(error(error_kind::limit, "the kernel allows no more watches (fs.inotify.max_user_instances)")
                    .with("limit", std::string("inotify_instances"))
                    .with("max", std::int64_t{0}));
  }
  if (!inotify) return fail_at(errno, "watching", request.path);
  auto tree = std::make_shared<watch_tree>(std::move(roots), directory->where, std::move(inotify));
  auto begun = tree->begin(*directory, std::move(file_name), request.recursive, how);
  if (!begun) return fail(std::move(begun.error()));
  return tree;
}

struct watcher::state {
  state(async::asio::any_io_executor executor, async::blocking_pool& pool_, std::string key,
        std::shared_ptr<watch_tree> tree_)
      : pool(pool_), pool_key(std::move(key)), tree(std::move(tree_)), readable(executor), gathering(executor) {
    // Its own duplicate: the tree may outlive this in a job of the pool.
    readable.assign(::fcntl(tree->inotify().get(), F_DUPFD_CLOEXEC, 3));
  }
  async::blocking_pool& pool;
  std::string pool_key;
  std::shared_ptr<watch_tree> tree;
  async::asio::posix::stream_descriptor readable;
  async::asio::steady_timer gathering;
};

watcher::watcher(async::asio::any_io_executor executor, async::blocking_pool& pool, std::string pool_key,
                 std::shared_ptr<watch_tree> tree)
    : state_(std::make_unique<state>(std::move(executor), pool, std::move(pool_key), std::move(tree))) {}

watcher::~watcher() = default;

async::task<change_batch> watcher::next() {
  namespace asio = async::asio;
  for (;;) {
    if (!state_->tree->busy()) {
      co_await state_->readable.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
      state_->gathering.expires_after(gather_time);
      co_await state_->gathering.async_wait(asio::use_awaitable);
    }
    auto work = [tree = state_->tree](const async::stop_flag& flag) {
      call how;
      how.stop = flag;
      return tree->drain(how);
    };
    auto pending = state_->pool.run(state_->pool_key, std::move(work));
    change_batch batch = co_await std::move(pending);
    if (batch.ended || batch.overflow || !batch.events.empty()) co_return batch;
  }
}

}  // namespace sbx::fs
