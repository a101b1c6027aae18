#include "daemon/sandbox/none.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "daemon/async/run.hpp"
#include "daemon/sandbox/helper_body.hpp"
#include "daemon/sandbox/host_facts.hpp"
#include "daemon/sandbox/live_sandbox.hpp"
#include "daemon/sandbox/unavailable.hpp"

namespace sbx::sandbox {
namespace {

namespace asio = async::asio;

class none_backend final : public backend {
 public:
  none_backend(asio::io_context& context, std::shared_ptr<helper_keeper> keeper, const backend_options& options)
      : context_(context), keeper_(std::move(keeper)), options_(options), identity_(read_host_identity()) {}

  backend_kind kind() const override { return backend_kind::none; }
  async::task<availability> probe() override;
  result<void> accepts(const spec& wanted) const override;
  async::task<result<std::shared_ptr<sandbox>>> launch(spec, progress_fn) override {
    return async::on(keeper_->strand(), launch_here());
  }
  async::task<void> sweep() override { co_return; }  // init ends with the daemon's end of its control socket

 private:
  result<start_request> start();
  async::task<result<std::shared_ptr<sandbox>>> launch_here();

  asio::io_context& context_;
  std::shared_ptr<helper_keeper> keeper_;
  backend_options options_;
  host_identity identity_;
};

async::task<availability> none_backend::probe() {
  availability answer;
  answer.available = ::access(options_.init_path.c_str(), X_OK) == 0;
  if (!answer.available) {
    answer.cause = options_.init_path + ": " + std::strerror(errno);
    answer.remedy = "install sbx-init beside sbxd";
  }
  co_return answer;
}

result<void> none_backend::accepts(const spec& wanted) const {
  const auto unsupported = [](std::string feature, std::string remedy) {
    return fail(error(error_kind::unsupported, "backend none has no walls: " + feature)
                    .with("feature", std::move(feature))
                    .with("remedy", std::move(remedy)));
  };
  const auto& limits = wanted.limits;
  if (limits.memory_bytes || limits.cpus || limits.pids || limits.tmp_bytes)
    return unsupported("limits", "use a container backend, or leave limits out");
  if (wanted.network.mode != network_spec::mode::host)
    return unsupported("network", "use network host, or another backend");
  for (const auto& mount : wanted.mounts)
    if (!mount.optional) return unsupported("mounts", "use bwrap or a container backend");
  if (wanted.user.mode != user_spec::mode::daemon) return unsupported("user", "use a container backend");
  if (wanted.strict_seccomp) return unsupported("seccomp", "use another backend");
  if (!wanted.image.empty()) return fail(error_kind::invalid_params, "backend none takes no image");
  return {};
}

result<start_request> none_backend::start() {
  auto control = make_control_pair();
  int errors[2];
  if (!control || ::pipe2(errors, O_CLOEXEC) != 0)
    return fail(
        unavailable(backend_kind::none, "too many open files", "raise the limit of open files", retry::worthwhile));
  sys::unique_fd read_end(errors[0]), write_end(errors[1]);
  sys::child_setup setup;
  setup.path = options_.init_path;
  setup.argv = {"sbx-init", "--control", "3", "--subreaper"};
  setup.descriptors = {{write_end, 2}, {control->inits, 3}};
  auto program = keeper_->start(setup);
  if (!program)
    return fail(unavailable(backend_kind::none,
                            "starting " + options_.init_path + ": " + std::strerror(program.error().number),
                            "install sbx-init beside sbxd"));
  auto said = std::make_shared<pipe_reader>(pipe_reader::keep::last, 4096);
  keeper_->read(std::move(read_end), said);
  start_request request;
  request.backend = backend_kind::none;
  request.control = std::move(control->ours);
  request.body = std::make_shared<helper_body>(context_, std::move(*program), std::move(said));
  return request;
}

async::task<result<std::shared_ptr<sandbox>>> none_backend::launch_here() {
  auto request = start();
  if (!request) co_return fail(std::move(request.error()));
  auto body = request->body;
  request->view.home = identity_.home;
  request->view.user_name = identity_.user;
  request->link.defaults = options_.defaults;
  request->link.end_timeout.reset();  // what can't be killed here would outlive init as well
  request->link.ready_timeout = options_.start_timeout;
  auto starting = start_sandbox(context_, keeper_->tasks(), std::move(*request));
  auto running = co_await std::move(starting);
  if (running) co_return std::move(*running);
  const auto words = body->last_words();
  co_return fail(unavailable(backend_kind::none, words.empty() ? running.error().message : words,
                             "see sbxctl doctor, and try again", retry::worthwhile));
}

}  // namespace

std::shared_ptr<backend> make_none(asio::io_context& context, std::shared_ptr<helper_keeper> keeper,
                                   const backend_options& options) {
  return std::make_shared<none_backend>(context, std::move(keeper), options);
}

}  // namespace sbx::sandbox
