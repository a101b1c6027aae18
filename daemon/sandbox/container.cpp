#include "daemon/sandbox/container.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <set>

#include "daemon/async/run.hpp"
#include "daemon/sandbox/accounts.hpp"
#include "daemon/sandbox/bwrap_plan.hpp"
#include "daemon/sandbox/container_body.hpp"
#include "daemon/sandbox/container_link.hpp"
#include "daemon/sandbox/container_plan.hpp"
#include "daemon/sandbox/engine.hpp"
#include "daemon/sandbox/host_facts.hpp"
#include "daemon/sandbox/image_store.hpp"
#include "daemon/sandbox/live_sandbox.hpp"
#include "daemon/sandbox/mount_rules.hpp"
#include "daemon/sandbox/unavailable.hpp"
#include "daemon/sandbox/verified_file.hpp"

namespace sbx::sandbox {
namespace {

namespace asio = async::asio;
using namespace std::chrono_literals;

constexpr auto probe_lifetime = 10s;
constexpr auto run_limit = 120s;

// What one attempt to start a container has made so far.
struct attempt {
  attempt() = default;
  spec wanted;
  std::string name;
  bool rootless = false;
  std::shared_ptr<const image_info> image;
  std::shared_ptr<container_link> link;
  container_inputs inputs;
  account who;
  std::string id;
  pid_t pid = -1;
};

std::string random_name() {
  std::uint64_t number = 0;
  [[maybe_unused]] const ssize_t length = ::getrandom(&number, sizeof number, 0);
  return "sbx-" + std::to_string(number);
}

std::vector<std::string> words(std::vector<std::string> before, std::initializer_list<std::string> after) {
  before.insert(before.end(), after);
  return before;
}

class container_backend final : public backend {
 public:
  container_backend(asio::io_context& context, async::blocking_pool& pool, std::shared_ptr<helper_keeper> keeper,
                    backend_kind kind, const backend_options& options)
      : context_(context),
        pool_(pool),
        keeper_(std::move(keeper)),
        options_(options),
        identity_(read_host_identity()),
        label_(std::to_string(::geteuid()) + ":" + options.socket_path),
        engine_(std::make_shared<engine>(*keeper_, kind,
                                         kind == backend_kind::docker ? options.docker_path : options.podman_path)),
        images_(engine_, label_) {}

  backend_kind kind() const override { return engine_->kind(); }
  async::task<availability> probe() override { return async::on(keeper_->strand(), probe_here()); }
  result<void> accepts(const spec& wanted) const override;
  async::task<result<std::shared_ptr<sandbox>>> launch(spec wanted, progress_fn progress) override {
    return async::on(keeper_->strand(), launch_here(std::move(wanted), std::move(progress)));
  }
  async::task<void> sweep() override { return async::on(keeper_->strand(), sweep_here()); }

 private:
  class removal_guard;
  using step = async::task<result<void>>;

  step prepare(std::shared_ptr<attempt> now, progress_fn progress);
  step learn_rootless(std::shared_ptr<attempt> now);
  step copy_verified_mounts(std::shared_ptr<attempt> now);
  step write_accounts(std::shared_ptr<attempt> now);
  step run(std::shared_ptr<attempt> now);
  step look(std::shared_ptr<attempt> now);
  async::task<result<container_link::peer>> meet(std::shared_ptr<attempt> now);
  async::task<result<std::shared_ptr<sandbox>>> launch_once(spec wanted, progress_fn progress);
  async::task<result<std::shared_ptr<sandbox>>> launch_here(spec wanted, progress_fn progress);
  async::task<availability> probe_here();
  async::task<void> sweep_here();
  async::task<void> sweep_labelled();
  void choose_account(attempt& now) const;
  std::string link_prefix() const { return "link-" + std::string(name_of(kind())) + "-"; }

  asio::io_context& context_;
  async::blocking_pool& pool_;
  std::shared_ptr<helper_keeper> keeper_;
  backend_options options_;
  host_identity identity_;
  std::string label_;
  std::shared_ptr<engine> engine_;
  image_store images_;
  std::map<std::vector<std::string>, bool> rootless_;  // by engine_args
  bool swept_ = false;
  std::set<std::string> started_;  // names of this daemon's containers, until the sweep has spared them
  availability probed_;
  std::chrono::steady_clock::time_point probed_at_{};
};

// A container that was named to an engine is removed unless it became a sandbox, cancelled or not.
class container_backend::removal_guard {
 public:
  removal_guard(container_backend& of, std::shared_ptr<attempt> now) : of_(of), now_(std::move(now)) {}
  removal_guard(const removal_guard&) = delete;
  ~removal_guard() {
    if (!now_) return;
    const auto remove = [](std::shared_ptr<engine> with, std::shared_ptr<attempt> what) -> async::task<void> {
      auto removing = remove_container(with, what->wanted.engine_args, what->name, nullptr);
      co_await std::move(removing);
    };
    of_.keeper_->tasks().spawn("removing a container", remove(of_.engine_, now_));
  }
  void keep() { now_.reset(); }

 private:
  container_backend& of_;
  std::shared_ptr<attempt> now_;
};

result<void> container_backend::accepts(const spec& wanted) const {
  if (auto fine = check_container(wanted); !fine) return fine;
  return check_mounts(wanted);
}

async::task<availability> container_backend::probe_here() {
  const auto now = std::chrono::steady_clock::now();
  if (probed_at_ != std::chrono::steady_clock::time_point() && now - probed_at_ < probe_lifetime) co_return probed_;
  const std::string format = kind() == backend_kind::docker ? "{{.Server.Version}}" : "{{.Client.Version}}";
  std::vector<std::string> arguments = {"version", "--format", format};
  auto asking = engine_->run(std::move(arguments), 5s);
  const auto answer = co_await std::move(asking);
  availability found;
  found.available = answer && answer->code == 0;
  if (found.available) {
    found.version = tidy(answer->output, 100);
  } else {
    const auto problem = answer ? explain_engine(kind(), answer->errors) : answer.error();
    for (const auto& [key, value] : problem.details) {
      if (key == "cause") found.cause = std::get<std::string>(value);
      if (key == "remedy") found.remedy = std::get<std::string>(value);
    }
  }
  probed_ = found;
  probed_at_ = now;
  co_return found;
}

// How an engine maps users is asked once, and again after any failure.
container_backend::step container_backend::learn_rootless(std::shared_ptr<attempt> now) {
  if (const auto known = rootless_.find(now->wanted.engine_args); known != rootless_.end()) {
    now->rootless = known->second;
    co_return result<void>();
  }
  const std::string format =
      kind() == backend_kind::docker ? "{{.SecurityOptions}}" : "rootless={{.Host.Security.Rootless}}";
  auto asking = engine_->run(words(now->wanted.engine_args, {"info", "--format", format}), 20s);
  const auto answer = co_await std::move(asking);
  if (!answer) co_return fail(answer.error());
  if (answer->code != 0) co_return fail(explain_engine(kind(), answer->errors));
  const auto says = [&](std::string_view part) { return answer->output.find(part) != std::string::npos; };
  now->rootless = kind() == backend_kind::docker ? says("name=rootless") : says("rootless=true");
  rootless_[now->wanted.engine_args] = now->rootless;
  co_return result<void>();
}

container_backend::step container_backend::copy_verified_mounts(std::shared_ptr<attempt> now) {
  const auto copy_all = [](std::shared_ptr<attempt> what) -> result<void> {
    for (const auto& mount : what->wanted.mounts) {
      if (!mount.sha256 || !mount.fd) continue;
      auto copy = copy_verified(*mount.fd, mount.source, *mount.sha256);
      if (!copy) return fail(std::move(copy.error()));
      auto path = what->link->add_copy("mount-" + std::to_string(what->inputs.verified.size()), copy->content,
                                       copy->executable ? 0555 : 0444);
      if (!path) return fail(std::move(path.error()));
      what->inputs.verified[target_of(mount)] = std::move(*path);
    }
    return {};
  };
  auto copying = pool_.run(now->wanted.workspace, [copy_all, now](const async::stop_flag&) { return copy_all(now); });
  co_return co_await std::move(copying);
}

// Whom commands are inside, and the home they get. With the image's own user nothing of the image is changed.
void container_backend::choose_account(attempt& now) const {
  const auto& user = now.wanted.user;
  if (user.mode == user_spec::mode::image) {
    now.who = find_account(now.image->passwd, now.image->user);
    return;
  }
  const bool as_root = user.mode == user_spec::mode::daemon && now.rootless && kind() == backend_kind::docker;
  now.who.uid = as_root ? 0 : user.mode == user_spec::mode::daemon ? identity_.uid : user.uid;
  now.who.gid = as_root ? 0 : user.mode == user_spec::mode::daemon ? identity_.gid : user.gid;
  const auto images_own = find_account(now.image->passwd, std::to_string(now.who.uid));
  if (now.who.uid == identity_.uid)
    now.who.name = identity_.user;
  else
    now.who.name = images_own.name == std::to_string(now.who.uid) ? "user" : images_own.name;
  const std::string usual = now.who.uid == 0 ? "/root" : "/home/" + now.who.name;
  now.who.home = choose_home(now.wanted, now.who.uid == identity_.uid ? identity_.home : usual);
  now.inputs.home = now.who.home;
}

container_backend::step container_backend::write_accounts(std::shared_ptr<attempt> now) {
  choose_account(*now);
  if (now->wanted.user.mode == user_spec::mode::image) co_return result<void>();
  const std::string group = now->who.gid == identity_.gid ? identity_.group : now->who.name;
  auto passwd = now->link->add_file("passwd", merge_passwd(now->image->passwd, now->who));
  auto groups = now->link->add_file("group", merge_group(now->image->group, group, now->who.gid));
  if (!passwd || !groups)
    co_return fail(unavailable(kind(), "no room for a container's files", "free some space in the runtime directory"));
  now->inputs.passwd_path = std::move(*passwd);
  now->inputs.group_path = std::move(*groups);
  co_return result<void>();
}

container_backend::step container_backend::prepare(std::shared_ptr<attempt> now, progress_fn progress) {
  auto resolving = images_.resolve(now->wanted.engine_args, now->wanted.image, std::move(progress));
  auto image = co_await std::move(resolving);
  if (!image) co_return fail(std::move(image.error()));
  now->image = std::move(*image);
  auto learning = learn_rootless(now);
  if (auto learnt = co_await std::move(learning); !learnt) co_return fail(std::move(learnt.error()));
  now->name = random_name();
  if (!swept_) started_.insert(now->name);
  const auto removal = words(now->wanted.engine_args, {"rm", "--force", "--volumes", "--", now->name});
  auto link = container_link::make(context_, options_.runtime_directory, link_prefix(), removal);
  if (!link)
    co_return fail(
        unavailable(kind(), link.error().message, "check the daemon's runtime directory", retry::worthwhile));
  now->link = std::move(*link);
  auto copying = copy_verified_mounts(now);
  if (auto copied = co_await std::move(copying); !copied) co_return fail(std::move(copied.error()));
  auto& inputs = now->inputs;
  inputs.name = now->name;
  inputs.daemon_label = label_;
  inputs.init_path = options_.init_path;
  inputs.link_directory = now->link->shown_directory();
  const std::string shown = container_link_target(now->name);
  inputs.init_arguments = {"--connect", shown + "/control", "--failure-file", shown + "/reason"};
  inputs.rootless = now->rootless;
  inputs.uid = identity_.uid;
  inputs.gid = identity_.gid;
  auto writing = write_accounts(now);
  co_return co_await std::move(writing);
}

container_backend::step container_backend::run(std::shared_ptr<attempt> now) {
  auto running = engine_->run(plan_container(now->wanted, now->inputs), run_limit);
  auto answer = co_await std::move(running);
  if (!answer) co_return fail(std::move(answer.error()));
  if (answer->code == 0) co_return result<void>();
  if (says_no_such_image(answer->errors)) co_return fail(error_kind::not_found, tidy(answer->errors));
  co_return fail(explain_engine(kind(), answer->errors));
}

// The pid that the engine itself gives for the container it started, and what image that is really of.
container_backend::step container_backend::look(std::shared_ptr<attempt> now) {
  auto asking = engine_->run(words(now->wanted.engine_args, {"container", "inspect", "--format",
                                                             "{{.State.Pid}} {{.Image}} {{.Id}}", "--", now->name}),
                             30s);
  auto answer = co_await std::move(asking);
  if (!answer) co_return fail(std::move(answer.error()));
  const auto reason = now->link->reason();
  if (answer->code != 0 && !reason.empty())
    co_return fail(unavailable(kind(), reason, "see what the image or the profile's run_args do", retry::worthwhile));
  if (answer->code != 0) co_return fail(explain_engine(kind(), answer->errors));
  const std::string_view text = answer->output;
  const auto first = text.find(' '), second = text.find(' ', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos)
    co_return fail(unavailable(kind(), "the engine described the container in an unknown form", "update the engine"));
  std::from_chars(text.data(), text.data() + first, now->pid);
  if (text.substr(first + 1, second - first - 1) != now->image->id)
    co_return fail(error_kind::not_found, "the image's name means another one now");
  now->id = tidy(text.substr(second + 1), 100);
  co_return result<void>();
}

async::task<result<container_link::peer>> container_backend::meet(std::shared_ptr<attempt> now) {
  std::optional<result<container_link::peer>> met;
  if (now->pid > 0) {
    auto accepting = now->link->accept_from(now->pid);
    auto pending = async::with_deadline(std::move(accepting), options_.start_timeout);
    met = co_await std::move(pending);
  }
  if (met && *met) co_return std::move(*met);
  const auto reason = now->link->reason();
  co_return fail(unavailable(kind(), reason.empty() ? "init did not connect from the container" : reason,
                             "use an engine on this machine; see what the profile's run_args do", retry::worthwhile));
}

async::task<result<std::shared_ptr<sandbox>>> container_backend::launch_once(spec wanted, progress_fn progress) {
  auto now = std::make_shared<attempt>();
  now->wanted = std::move(wanted);
  auto preparing = prepare(now, std::move(progress));
  if (auto prepared = co_await std::move(preparing); !prepared) co_return fail(std::move(prepared.error()));
  removal_guard guard(*this, now);
  auto running = run(now);
  if (auto ran = co_await std::move(running); !ran) co_return fail(std::move(ran.error()));
  auto looking = look(now);
  if (auto looked = co_await std::move(looking); !looked) co_return fail(std::move(looked.error()));
  auto meeting = meet(now);
  auto met = co_await std::move(meeting);
  if (!met) co_return fail(std::move(met.error()));
  if (now->wanted.user.mode == user_spec::mode::daemon && met->uid != identity_.uid)
    co_return fail(
        unavailable(kind(),
                    "the engine maps this user to uid " + std::to_string(met->uid) +
                        " on the host, so files would "
                        "not be the daemon's",
                    "turn the engine's userns-remap off, run the engine rootless, or set user in the profile"));
  now->link->close_shown();
  container_facts facts;
  facts.run_by = engine_;
  facts.engine_args = now->wanted.engine_args;
  facts.name = now->name;
  facts.id = now->id;
  facts.pid = now->pid;
  facts.link = now->link;
  guard.keep();
  start_request request;
  request.backend = kind();
  request.control = std::move(met->control);
  request.body = make_container_body(context_, keeper_->tasks(), std::move(facts));
  request.view.home = now->who.home;
  request.view.user_name = now->who.name;
  request.view.base_env = now->image->env;
  request.link.defaults = options_.defaults;
  request.link.with_defaults = false;
  request.link.ready_timeout = options_.start_timeout;
  if (met->uid != ::geteuid()) request.terminal_owner = met->uid;
  auto starting = start_sandbox(context_, keeper_->tasks(), std::move(request));
  auto started = co_await std::move(starting);
  if (started) co_return std::move(*started);
  co_return fail(unavailable(kind(), started.error().message, "see sbxctl doctor, and try again", retry::worthwhile));
}

async::task<result<std::shared_ptr<sandbox>>> container_backend::launch_here(spec wanted, progress_fn progress) {
  auto launching = launch_once(wanted, progress);
  auto first = co_await std::move(launching);
  if (first) co_return first;
  images_.forget(wanted.engine_args, wanted.image);
  rootless_.erase(wanted.engine_args);
  if (first.error().kind != error_kind::not_found) co_return first;
  // What was known of the image is out of date: once more with what it is now.
  auto again = launch_once(wanted, progress);
  auto second = co_await std::move(again);
  if (!second && second.error().kind == error_kind::not_found)
    co_return fail(unavailable(kind(), second.error().message, "check the image's name", retry::worthwhile));
  co_return second;
}

// Asking an engine that was never used would cost time at every start, and podman would even make its store.
bool may_hold_containers(backend_kind kind) {
  const auto value = [](const char* name) {
    const char* text = std::getenv(name);
    return std::string(text == nullptr ? "" : text);
  };
  const auto exists = [](const std::string& path) { return ::access(path.c_str(), F_OK) == 0; };
  if (kind == backend_kind::docker)
    return !value("DOCKER_HOST").empty() || !value("DOCKER_CONTEXT").empty() || exists("/run/docker.sock") ||
           exists(value("XDG_RUNTIME_DIR") + "/docker.sock") || exists(value("HOME") + "/.docker/contexts");
  return exists(::geteuid() == 0 ? "/var/lib/containers/storage" : value("HOME") + "/.local/share/containers/storage");
}

// The records first, for they name their engine's arguments. The engines are asked beside whatever the daemon does
// next.
async::task<void> container_backend::sweep_here() {
  for (auto& record : find_left_links(options_.runtime_directory, link_prefix())) {
    const auto command = std::find(record.begin(), record.end(), "rm");
    if (command == record.end()) continue;
    const std::string name = record.back();
    record.erase(command, record.end());
    keeper_->tasks().spawn("removing a container", remove_container(engine_, std::move(record), name, nullptr));
  }
  remove_left_links(options_.runtime_directory, link_prefix());
  if (may_hold_containers(kind())) keeper_->tasks().spawn("sweeping containers", sweep_labelled());
  co_return;
}

// Containers with the label of this user and socket that this daemon did not start.
async::task<void> container_backend::sweep_labelled() {
  std::vector<std::string> listing = {"ps",         "--all",    "--format",
                                      "{{.Names}}", "--filter", "label=sbx.daemon=" + label_};
  auto asking = engine_->run(std::move(listing), 30s);
  const auto answer = co_await std::move(asking);
  for (std::string_view rest = answer && answer->code == 0 ? std::string_view(answer->output) : ""; !rest.empty();) {
    const auto end = std::min(rest.find('\n'), rest.size());
    const std::string name(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!name.empty() && !started_.contains(name))
      keeper_->tasks().spawn("removing a container", remove_container(engine_, {}, name, nullptr));
  }
  swept_ = true;
  started_.clear();
}

}  // namespace

std::shared_ptr<backend> make_container(asio::io_context& context, async::blocking_pool& pool,
                                        std::shared_ptr<helper_keeper> keeper, backend_kind kind,
                                        const backend_options& options) {
  return std::make_shared<container_backend>(context, pool, std::move(keeper), kind, options);
}

}  // namespace sbx::sandbox
