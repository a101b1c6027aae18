#include "daemon/app/app.hpp"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "daemon/api/system_api.hpp"
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

std::string directory_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

// Everything there is, in the order in which it is built; it goes in reverse.
class daemon {
 public:
  daemon(rpc::socket_file socket, sandbox::process_defaults defaults)
      : socket_(std::move(socket)),
        main_(io_.get_executor()),
        pool_(io_.get_executor()),
        backends_(sandbox::make_backends(io_, pool_, backend_options(std::move(defaults)))),
        services_(make_services()),
        server_(io_, services_),
        life_(main_) {}

  int run() {
    life_.spawn("the daemon's life", live());
    life_.spawn("signals", watch_signals());
    // One reactor thread; several only to prove the strands under a sanitizer.
    const char* wanted = std::getenv("SBX_REACTOR_THREADS");
    std::vector<std::thread> more;
    for (int i = 1; wanted != nullptr && i < std::atoi(wanted); ++i) more.emplace_back([this] { io_.run(); });
    io_.run();
    for (std::thread& t : more) t.join();
    return 0;
  }

 private:
  sandbox::backend_options backend_options(sandbox::process_defaults defaults) const {
    sandbox::backend_options made;
    made.socket_path = socket_.path();
    made.runtime_directory = directory_of(socket_.path());
    made.defaults = std::move(defaults);
    return made;
  }

  std::shared_ptr<rpc::services> make_services() {
    auto made = std::make_shared<rpc::services>();
    made->methods = &methods_;
    made->pool = &pool_;
    made->failures = log_failure;
    return made;
  }

  void register_methods() {
    auto sources = std::make_shared<api::system_sources>();
    sources->rpc = services_;
    sources->backends = backends_;
    sources->features = sys::probe_features();
    sources->socket_path = socket_.path();
    api::register_system_methods(methods_, sources);
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
    server_.abort();
    auto ending = async::with_deadline(server_.join(), close_time);
    if (!co_await std::move(ending)) log(level::warn, "some calls did not end in time");
    socket_.remove();
    io_.stop();
  }

  async::task<void> watch_signals() {
    asio::signal_set signals(main_, SIGTERM, SIGINT, SIGHUP);
    for (;;) {
      auto pending = signals.async_wait(asio::use_awaitable);
      const int number = co_await std::move(pending);
      if (number != SIGHUP) stop_.set();
    }
  }

  rpc::socket_file socket_;
  asio::io_context io_{1};
  async::strand main_;
  async::blocking_pool pool_;
  sandbox::backend_set backends_;
  rpc::method_table methods_;
  std::shared_ptr<rpc::services> services_;
  rpc::server server_;
  async::event stop_;
  async::task_group life_;
};

}  // namespace

int run(const options& wanted) {
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
  return daemon(std::move(*socket), std::move(*defaults)).run();
}

}  // namespace sbx::app
