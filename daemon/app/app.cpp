#include "daemon/app/app.hpp"

#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/api/core.hpp"
#include "daemon/api/system_api.hpp"
#include "daemon/app/config_file.hpp"
#include "daemon/app/log.hpp"
#include "daemon/app/service_manager.hpp"
#include "daemon/app/start.hpp"
#include "daemon/async/blocking_pool.hpp"
#include "daemon/async/run.hpp"
#include "daemon/async/task_group.hpp"
#include "daemon/rpc/server.hpp"
#include "daemon/rpc/socket_file.hpp"
#include "daemon/sandbox/factory.hpp"
#include "daemon/sys/probe.hpp"
#include "daemon/workspace/registry.hpp"

namespace sbx::app {

namespace {

namespace asio = async::asio;
using namespace std::chrono_literals;

// All of a stop takes at most 10 s: calls in flight first, then what they leave.
constexpr auto drain_time = 4s;
constexpr auto close_time = 5s;

result<rpc::socket_file> open_socket(const options& wanted) {
  auto handed = take_listen_fds();
  if (!handed) return tl::unexpected(handed.error());
  if (!handed->empty()) return rpc::socket_file::adopt(std::move(handed->front()));
  if (!wanted.socket_path.empty()) return rpc::socket_file::bind(wanted.socket_path);
  auto path = rpc::default_socket_path(std::getenv("XDG_RUNTIME_DIR"), ::geteuid());
  if (!path) return tl::unexpected(path.error());
  return rpc::socket_file::bind(*path);
}

std::string directory_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

// Everything there is, in the order in which it is built; it goes in reverse.
class daemon {
 public:
  daemon(options wanted, loaded_config config, rpc::socket_file socket, sandbox::process_defaults defaults)
      : wanted_(std::move(wanted)),
        config_(std::move(config)),
        umask_(defaults.umask),
        socket_(std::move(socket)),
        main_(io_.get_executor()),
        pool_(io_.get_executor()),
        backends_(sandbox::make_backends(io_, pool_, backend_options(std::move(defaults)))),
        registry_(io_, pool_, backends_, registry_options()),
        core_(io_, pool_, registry_, umask_),
        services_(make_services()),
        server_(io_, services_),
        life_(main_) {}

  int run() {
    life_.spawn("signals", watch_signals());
    life_.spawn("the daemon's life", live());
    // One reactor thread; several only to prove the strands under a sanitizer.
    const char* wanted = std::getenv("SBX_REACTOR_THREADS");
    std::vector<std::thread> more;
    for (int i = 1; wanted != nullptr && i < std::atoi(wanted); ++i) more.emplace_back([this] { io_.run(); });
    io_.run();
    for (std::thread& t : more) t.join();
    socket_.remove();
    // What has not ended is in the middle of something: it is not taken apart, the kernel does that.
    if (!orderly_) ::_exit(0);
    return 0;
  }

 private:
  sandbox::backend_options backend_options(sandbox::process_defaults defaults) const {
    sandbox::backend_options made;
    made.socket_path = socket_.path();
    made.runtime_directory = directory_of(socket_.path());
    made.defaults = std::move(defaults);
    made.start_timeout = std::chrono::milliseconds(config_.file.limits.start_timeout_ms);
    return made;
  }

  workspace::registry_options registry_options() const {
    workspace::registry_options made;
    made.known = config_.settings;
    made.paths = own_paths(wanted_, socket_.path());
    made.umask = umask_;
    return made;
  }

  std::shared_ptr<rpc::services> make_services() {
    auto made = std::make_shared<rpc::services>();
    made->methods = &methods_;
    made->pool = &pool_;
    made->failures = log_failure;
    made->limits = api::make_server_limits(config_.file);
    made->hooks = api::connection_hooks(core_);
    return made;
  }

  void register_methods() {
    auto sources = std::make_shared<api::system_sources>();
    sources->rpc = services_;
    sources->backends = backends_;
    sources->features = sys::probe_features();
    sources->socket_path = socket_.path();
    sources->domain_stats = [this](proto::stats_result& into) { return api::fill_stats(core_, into); };
    api::register_system_methods(methods_, sources);
    api::register_domain_methods(core_, methods_);
  }

  // Start, serve, stop: the order of everything.
  async::task<void> live() {
    register_methods();
    for (const auto& [kind, backend] : backends_) {
      auto sweeping = backend->sweep();
      co_await std::move(sweeping);
    }
    server_.listen(socket_.take_listener());
    log(level::info, "listening on " + socket_.path());
    notify_ready();

    auto stopping = stop_.wait();
    co_await std::move(stopping);

    log(level::info, "stopping");
    notify_stopping();
    auto draining = async::with_deadline(server_.drain(), drain_time);
    if (!co_await std::move(draining)) log(level::warn, "some clients did not take their last replies in time");
    auto ending = async::with_deadline(end_everything(), close_time);
    orderly_ = co_await std::move(ending);
    if (!orderly_) log(level::warn, "some calls or sandboxes did not end in time");
    io_.stop();
  }

  async::task<void> end_everything() {
    server_.abort();
    auto sandboxes = async::on(registry_.strand(), registry_.shut_down());
    co_await std::move(sandboxes);
    auto connections = server_.join();
    co_await std::move(connections);
  }

  async::task<void> watch_signals() {
    asio::signal_set signals(main_, SIGTERM, SIGINT, SIGHUP);
    for (;;) {
      auto pending = signals.async_wait(asio::use_awaitable);
      const int number = co_await std::move(pending);
      if (number == SIGHUP) {
        reload();
      } else if (stop_.is_set()) {
        io_.stop();  // asked twice: at once; what is inside ends by end-of-file
      } else {
        stop_.set();
      }
    }
  }

  // What is open keeps what it has; a configuration that is not right changes nothing.
  void reload() {
    notify_reloading();
    auto fresh = load_config(wanted_);
    if (fresh) {
      asio::dispatch(registry_.strand(),
                     [this, settings = std::move(fresh->settings)] { core_.change_settings(settings); });
      log(level::info, "the configuration was read again");
    } else {
      log(level::error, fresh.error().message);
    }
    notify_ready();
  }

  const options wanted_;
  const loaded_config config_;
  const mode_t umask_;
  rpc::socket_file socket_;
  asio::io_context io_{1};
  async::strand main_;
  async::blocking_pool pool_;
  sandbox::backend_set backends_;
  workspace::registry registry_;
  api::core core_;
  rpc::method_table methods_;
  std::shared_ptr<rpc::services> services_;
  rpc::server server_;
  async::event stop_;
  bool orderly_ = false;
  async::task_group life_;
};

}  // namespace

int run(const options& wanted) {
  auto config = load_config(wanted);
  if (!config) {
    log(level::error, config.error().message);
    return 1;
  }
  if (wanted.check_config) return 0;
  if (wanted.print_config) {
    std::puts(api::print_config(config->file).c_str());
    return 0;
  }
  auto defaults = prepare_process();
  if (!defaults) {
    log(level::error, defaults.error().message);
    return 1;
  }
  auto socket = open_socket(wanted);
  if (!socket) {
    log(level::error, socket.error().message);
    return 1;
  }
  async::set_default_failure_sink(log_failure);
  return daemon(wanted, std::move(*config), std::move(*socket), std::move(*defaults)).run();
}

}  // namespace sbx::app
