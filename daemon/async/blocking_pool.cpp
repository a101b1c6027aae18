#include "daemon/async/blocking_pool.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>

namespace sbx::async {

namespace {
using clock = std::chrono::steady_clock;
constexpr auto idle_time = std::chrono::seconds(10);
constexpr auto look_interval = std::chrono::milliseconds(100);
}  // namespace

// Shared by the pool and its threads, so that a stuck thread may outlive the pool.
struct blocking_pool::core : std::enable_shared_from_this<core> {
  struct lane {  // the jobs of one key
    std::deque<std::function<void()>> waiting;
    std::size_t running = 0;
    bool listed = false;  // in `ready`
  };

  core(asio::any_io_executor executor_, pool_limits limits_)
      : executor(std::move(executor_)), limits(limits_), timer(executor) {}

  void submit(std::string key, std::function<void()> body) {
    const std::lock_guard lock(mutex);
    lanes[key].waiting.push_back(std::move(body));
    ++queued;
    list(key);
    add_threads();
    watch();
  }

  // The members below are called with the mutex held.

  void list(const std::string& key) {
    lane& l = lanes[key];
    if (l.listed || l.waiting.empty() || l.running >= limits.jobs_per_key) return;
    l.listed = true;
    ready.push_back(key);
    wake.notify_one();
  }

  std::size_t threads_allowed() const {
    const auto now = clock::now();
    const auto stuck = std::count_if(started.begin(), started.end(),
                                     [&](clock::time_point at) { return now - at >= limits.stuck_after; });
    return std::min(limits.threads_max, limits.threads + static_cast<std::size_t>(stuck));
  }

  void add_threads() {
    while (ready.size() > idle && threads < threads_allowed()) {
      if (!start_thread()) return;  // looked at again soon
    }
  }

  bool start_thread() {
    // Signals are the reactor's business.
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    bool made = true;
    try {
      std::thread([self = shared_from_this()] { self->work(); }).detach();
      ++threads;
      ++idle;
    } catch (const std::system_error&) {
      made = false;
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return made;
  }

  // While something is ready and nobody free to take it, looks now and then whether a call has got stuck.
  void watch() {
    if (watching || closing || ready.size() <= idle) return;
    watching = true;
    asio::post(executor, [self = shared_from_this()] { self->look_later(); });
  }

  void look_later() {
    timer.expires_after(look_interval);
    timer.async_wait([self = shared_from_this()](boost::system::error_code) {
      const std::lock_guard lock(self->mutex);
      self->watching = false;
      if (self->closing) return;
      self->add_threads();
      self->watch();
    });
  }

  // A thread's life.
  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      const bool woken = wake.wait_for(lock, idle_time, [&] { return closing || !ready.empty(); });
      if (closing || (!woken && ready.empty())) break;
      --idle;
      run_one(lock);
      ++idle;
      if (threads > threads_allowed()) break;
    }
    --idle;
    --threads;
    if (!closing) add_threads();
  }

  void run_one(std::unique_lock<std::mutex>& lock) {
    const std::string key = std::move(ready.front());
    ready.pop_front();
    auto body = take(key);
    const auto place = started.insert(started.end(), clock::now());
    list(key);
    add_threads();
    watch();
    lock.unlock();
    body();
    body = nullptr;
    lock.lock();
    started.erase(place);
    lane& l = lanes[key];
    --l.running;
    list(key);
    if (l.running == 0 && l.waiting.empty()) lanes.erase(key);
  }

  std::function<void()> take(const std::string& key) {
    lane& l = lanes[key];
    l.listed = false;
    auto body = std::move(l.waiting.front());
    l.waiting.pop_front();
    ++l.running;
    --queued;
    return body;
  }

  const asio::any_io_executor executor;
  const pool_limits limits;
  asio::steady_timer timer;
  std::mutex mutex;
  std::condition_variable wake;
  std::map<std::string, lane> lanes;
  std::deque<std::string> ready;         // keys that have a job to start
  std::list<clock::time_point> started;  // of the running jobs
  std::size_t threads = 0, idle = 0, queued = 0;
  bool closing = false, watching = false;
};

blocking_pool::blocking_pool(asio::any_io_executor executor, pool_limits wanted)
    : core_(std::make_shared<core>(std::move(executor), wanted)) {}

blocking_pool::~blocking_pool() {
  std::map<std::string, core::lane> dropped;
  {
    const std::lock_guard lock(core_->mutex);
    core_->closing = true;
    core_->ready.clear();
    for (auto& [key, lane] : core_->lanes) dropped[key].waiting.swap(lane.waiting);
    core_->wake.notify_all();
  }
  asio::post(core_->executor, [core = core_] { core->timer.cancel(); });
}

void blocking_pool::submit(std::string key, std::function<void()> body) {
  core_->submit(std::move(key), std::move(body));
}

blocking_pool::gauges blocking_pool::stats() const {
  const std::lock_guard lock(core_->mutex);
  gauges now;
  now.threads = core_->threads;
  now.running = core_->started.size();
  now.queued = core_->queued;
  return now;
}

}  // namespace sbx::async
