#include "daemon/sandbox/bwrap.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "daemon/async/run.hpp"
#include "daemon/sandbox/bwrap_plan.hpp"
#include "daemon/sandbox/helper_body.hpp"
#include "daemon/sandbox/live_sandbox.hpp"
#include "daemon/sandbox/mount_rules.hpp"
#include "daemon/sandbox/program.hpp"
#include "daemon/sandbox/unavailable.hpp"
#include "daemon/sandbox/verified_file.hpp"
#include "daemon/sandbox/worktree.hpp"

namespace sbx::sandbox {
namespace {

namespace asio = async::asio;

constexpr int control_number = 3, info_number = 4, arguments_number = 5;
constexpr auto probe_lifetime = std::chrono::seconds(30);

using verified_mounts = std::map<std::string, verified_mount>;

// Reads whole files: on the blocking pool.
result<verified_mounts> verify(const std::vector<mount_spec>& mounts) {
  verified_mounts copies;
  for (const auto& mount : mounts) {
    if (!mount.sha256 || !mount.fd) continue;
    auto copy = copy_verified(*mount.fd, mount.source, *mount.sha256);
    if (!copy) return fail(std::move(copy.error()));
    auto& shown = copies[target_of(mount)];
    shown.content = std::make_shared<sys::unique_fd>(std::move(copy->content));
    shown.executable = copy->executable;
  }
  return copies;
}

result<sys::unique_fd> in_memory(std::string_view content) {
  sys::unique_fd file(::memfd_create("sbx-bwrap", MFD_CLOEXEC));
  if (!file || ::write(file.get(), content.data(), content.size()) != static_cast<ssize_t>(content.size()) ||
      ::lseek(file.get(), 0, SEEK_SET) != 0)
    return fail_system(errno, "preparing bwrap's arguments");
  return file;
}

std::string separated_by_nul(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text.append(word).push_back('\0');
  return text;
}

// bwrap's --info-fd says {"child-pid": N, …}.
std::optional<pid_t> child_pid_in(std::string_view info) {
  constexpr std::string_view key = "\"child-pid\"";
  const auto place = info.find(key);
  if (place == std::string_view::npos) return std::nullopt;
  const auto digit = info.find_first_of("0123456789", place + key.size());
  pid_t pid = 0;
  if (digit == std::string_view::npos) return std::nullopt;
  std::from_chars(info.data() + digit, info.data() + info.size(), pid);
  return pid > 0 ? std::optional(pid) : std::nullopt;
}

// A started bwrap, before its init has said a word.
struct started_bwrap {
  started_bwrap() = default;
  sys::unique_fd control;
  std::shared_ptr<helper_body> body;
  std::shared_ptr<pipe_reader> info;
};

class bwrap_backend final : public backend {
 public:
  bwrap_backend(asio::io_context& context, async::blocking_pool& pool, std::shared_ptr<helper_keeper> keeper,
                const backend_options& options)
      : context_(context),
        pool_(pool),
        keeper_(std::move(keeper)),
        options_(options),
        identity_(read_host_identity()) {}

  backend_kind kind() const override { return backend_kind::bwrap; }
  async::task<availability> probe() override { return async::on(keeper_->strand(), probe_cached()); }
  result<void> accepts(const spec& wanted) const override;
  async::task<result<std::shared_ptr<sandbox>>> launch(spec wanted, progress_fn) override {
    return async::on(keeper_->strand(), launch_here(std::move(wanted)));
  }
  async::task<void> sweep() override { co_return; }  // a dead daemon's sandboxes end with it

 private:
  result<std::string> find_bwrap() const;
  result<bwrap_inputs> gather(const spec& wanted, verified_mounts verified) const;
  result<started_bwrap> start(const std::string& bwrap, const bwrap_plan& plan);
  async::task<availability> probe_cached();
  async::task<availability> probe_now();
  async::task<result<std::shared_ptr<sandbox>>> launch_here(spec wanted);

  asio::io_context& context_;
  async::blocking_pool& pool_;
  std::shared_ptr<helper_keeper> keeper_;
  backend_options options_;
  host_identity identity_;
  availability probed_;
  std::chrono::steady_clock::time_point probed_at_{};
};

error no_descriptors(const error& why) {
  return unavailable(backend_kind::bwrap, why.message, "raise the limits of open files and memory", retry::worthwhile);
}

result<std::string> bwrap_backend::find_bwrap() const {
  const char* path_variable = std::getenv("PATH");
  auto path = sys::find_program(options_.bwrap_path, path_variable == nullptr ? "" : path_variable);
  if (!path) return fail(explain_bwrap_missing(options_.bwrap_path, ENOENT));
  return *path;
}

result<bwrap_inputs> bwrap_backend::gather(const spec& wanted, verified_mounts verified) const {
  bwrap_inputs inputs;
  inputs.host = read_host_facts();
  inputs.host.identity = identity_;
  inputs.init = std::make_shared<sys::unique_fd>(::open(options_.init_path.c_str(), O_PATH | O_CLOEXEC));
  if (!*inputs.init)
    return fail(unavailable(backend_kind::bwrap, "opening " + options_.init_path + ": " + std::strerror(errno),
                            "install sbx-init beside sbxd"));
  inputs.extra = find_worktree_binds(wanted);
  inputs.verified = std::move(verified);
  inputs.init_arguments = {"--control", std::to_string(control_number)};
  inputs.status_fd = info_number;
  inputs.first_free_fd = arguments_number + 1;
  return inputs;
}

result<started_bwrap> bwrap_backend::start(const std::string& bwrap, const bwrap_plan& plan) {
  auto control = make_control_pair();
  auto info = make_pipe();
  auto errors = make_pipe();
  auto arguments = in_memory(separated_by_nul(plan.arguments));
  if (!control) return fail(no_descriptors(control.error()));
  if (!info || !errors || !arguments) return fail(no_descriptors(error::system(errno, "starting bwrap")));
  sys::child_setup setup;
  setup.path = bwrap;
  setup.argv = {"bwrap", "--args", std::to_string(arguments_number), "--"};
  setup.argv.insert(setup.argv.end(), plan.command.begin(), plan.command.end());
  setup.descriptors = {{errors->write_end, 2},
                       {control->inits, control_number},
                       {info->write_end, info_number},
                       {*arguments, arguments_number}};
  setup.death_signal = SIGKILL;
  std::vector<sys::unique_fd> copies;
  for (const auto& descriptor : plan.descriptors) {
    if (const auto* object = std::get_if<std::shared_ptr<sys::unique_fd>>(&descriptor.source)) {
      setup.descriptors.emplace_back(**object, descriptor.number);
      continue;
    }
    auto copy = in_memory(std::get<std::string>(descriptor.source));
    if (!copy) return fail(no_descriptors(copy.error()));
    setup.descriptors.emplace_back(*copy, descriptor.number);
    copies.push_back(std::move(*copy));
  }
  auto program = keeper_->start(setup);
  if (!program) return fail(explain_bwrap_missing(bwrap, program.error().number));
  auto said = std::make_shared<pipe_reader>(pipe_reader::keep::last, 4096);
  started_bwrap started;
  started.info = std::make_shared<pipe_reader>(pipe_reader::keep::first, 4096);
  keeper_->read(std::move(errors->read_end), said);
  keeper_->read(std::move(info->read_end), started.info);
  started.body = std::make_shared<helper_body>(context_, std::move(*program), std::move(said));
  started.control = std::move(control->ours);
  return started;
}

result<void> bwrap_backend::accepts(const spec& wanted) const {
  const auto unsupported = [](std::string feature, std::string remedy) {
    return fail(error(error_kind::unsupported, "bwrap cannot do this: " + feature)
                    .with("feature", std::move(feature))
                    .with("remedy", std::move(remedy)));
  };
  const auto& limits = wanted.limits;
  if (limits.memory_bytes || limits.cpus || limits.pids)
    return unsupported("limits.memory_bytes, cpus and pids",
                       "use a container backend for these limits, or leave them out");
  if (wanted.network.mode != network_spec::mode::none && wanted.network.mode != network_spec::mode::host)
    return unsupported("network", "use network none or host, or a container backend");
  if (wanted.strict_seccomp)
    return unsupported("seccomp", "leave seccomp out of the profile: bwrap sets no_new_privs anyway");
  if (wanted.user.mode != user_spec::mode::daemon)
    return unsupported("user", "leave user out: bwrap runs commands as the daemon's own user");
  if (!wanted.image.empty()) return fail(error_kind::invalid_params, "bwrap takes no image");
  return check_mounts(wanted);
}

async::task<result<std::shared_ptr<sandbox>>> bwrap_backend::launch_here(spec wanted) {
  auto verifying =
      pool_.run(wanted.workspace, [mounts = wanted.mounts](const async::stop_flag&) { return verify(mounts); });
  auto verified = co_await std::move(verifying);
  if (!verified) co_return fail(std::move(verified.error()));
  const auto bwrap = find_bwrap();
  if (!bwrap) co_return fail(bwrap.error());
  auto inputs = gather(wanted, std::move(*verified));
  if (!inputs) co_return fail(std::move(inputs.error()));
  const auto plan = plan_bwrap(wanted, *inputs);
  auto started = start(*bwrap, plan);
  if (!started) co_return fail(std::move(started.error()));
  start_request request;
  request.backend = backend_kind::bwrap;
  request.control = std::move(started->control);
  request.body = started->body;
  request.view.home = plan.home;
  request.view.user_name = identity_.user;
  request.link.defaults = options_.defaults;
  request.link.ready_timeout = options_.start_timeout;
  auto starting = start_sandbox(context_, keeper_->tasks(), std::move(request));
  auto running = co_await std::move(starting);
  if (!running) {
    const auto words = started->body->last_words();
    co_return fail(explain_bwrap(words.empty() ? running.error().message : words));
  }
  // Written before init was executed, so it is there.
  if (const auto pid = child_pid_in(started->info->text())) started->body->set_init(*pid);
  co_return std::move(*running);
}

async::task<availability> bwrap_backend::probe_cached() {
  const auto now = std::chrono::steady_clock::now();
  if (probed_at_ == std::chrono::steady_clock::time_point() || now - probed_at_ > probe_lifetime) {
    auto probing = probe_now();
    probed_ = co_await std::move(probing);
    probed_at_ = now;
  }
  co_return probed_;
}

std::string detail_of(const error& problem, std::string_view name) {
  for (const auto& [key, value] : problem.details)
    if (const auto* text = std::get_if<std::string>(&value); text != nullptr && key == name) return *text;
  return problem.message;
}

// The honest question: a sandbox without roots is started and ended.
async::task<availability> bwrap_backend::probe_now() {
  availability answer;
  spec empty;
  empty.workspace = "probe";
  auto launching = launch_here(std::move(empty));
  auto launched = co_await std::move(launching);
  if (!launched) {
    answer.cause = detail_of(launched.error(), "cause");
    answer.remedy = detail_of(launched.error(), "remedy");
    co_return answer;
  }
  answer.available = true;
  (*launched)->end();
  const auto bwrap = find_bwrap();
  if (!bwrap) co_return answer;
  sys::child_setup setup;
  setup.path = *bwrap;
  setup.argv = {"bwrap", "--version"};
  auto asking = run_program(*keeper_, std::move(setup), std::chrono::seconds(2));
  const auto said = co_await std::move(asking);
  if (said) answer.version = tidy(std::string_view(said->output).substr(0, said->output.find('\n')), 100);
  co_return answer;
}

}  // namespace

std::shared_ptr<backend> make_bwrap(asio::io_context& context, async::blocking_pool& pool,
                                    std::shared_ptr<helper_keeper> keeper, const backend_options& options) {
  return std::make_shared<bwrap_backend>(context, pool, std::move(keeper), options);
}

}  // namespace sbx::sandbox
