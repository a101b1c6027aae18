#include "daemon/sandbox/image_store.hpp"

#include <sys/random.h>
#include <sys/utsname.h>

#include <tuple>

#include "daemon/sandbox/factory.hpp"
#include "daemon/sandbox/unavailable.hpp"

namespace sbx::sandbox {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t known_max = 256;  // images remembered

std::vector<std::string> words(std::vector<std::string> before, std::initializer_list<std::string> after) {
  before.insert(before.end(), after);
  return before;
}

std::string machine() {
  utsname name{};
  ::uname(&name);
  return name.machine;
}

std::string scratch_name() {
  std::uint64_t number = 0;
  [[maybe_unused]] const ssize_t length = ::getrandom(&number, sizeof number, 0);
  return "sbx-read-" + std::to_string(number);
}

}  // namespace

void image_store::forget(const std::vector<std::string>& engine_args, const std::string& image) {
  found_.erase({engine_args, image});
}

async::task<result<std::shared_ptr<const image_info>>> image_store::resolve(std::vector<std::string> engine_args,
                                                                            std::string image, progress_fn progress) {
  if (const auto known = found_.find({engine_args, image}); known != found_.end()) co_return known->second;
  auto inspecting = inspect(engine_args, image);
  auto info = co_await std::move(inspecting);
  if (!info && info.error().kind == error_kind::not_found) {
    auto pulling = pull(engine_args, image, std::move(progress));
    if (auto pulled = co_await std::move(pulling); !pulled) co_return fail(std::move(pulled.error()));
    auto again = inspect(engine_args, image);
    info = co_await std::move(again);
  }
  if (!info && info.error().kind == error_kind::not_found)
    co_return fail(unavailable(engine_->kind(), info.error().message, "check the image's name"));
  if (!info) co_return fail(std::move(info.error()));
  if (!info->os.empty() && info->os != "linux")
    co_return fail(unavailable(engine_->kind(), "the image is for " + info->os, "choose a Linux image"));
  if (!runs_here(info->architecture, machine()))
    co_return fail(unavailable(engine_->kind(),
                               "the image is for " + info->architecture + ", this machine is " + machine(),
                               "choose an image built for this machine"));
  auto reading = read_accounts(engine_args, image, *info);
  if (auto read = co_await std::move(reading); !read) co_return fail(std::move(read.error()));
  if (found_.size() >= known_max) found_.clear();
  auto known = std::make_shared<const image_info>(std::move(*info));
  found_[{std::move(engine_args), std::move(image)}] = known;
  co_return known;
}

async::task<result<image_info>> image_store::inspect(std::vector<std::string> engine_args, std::string image) {
  auto asking =
      engine_->run(words(std::move(engine_args), {"image", "inspect", "--format", image_format, "--", image}), 30s);
  auto answer = co_await std::move(asking);
  if (!answer) co_return fail(std::move(answer.error()));
  if (answer->code != 0 && says_no_such_image(answer->errors))
    co_return fail(error_kind::not_found, tidy(answer->errors));
  if (answer->code != 0) co_return fail(explain_engine(engine_->kind(), answer->errors));
  auto info = parse_image(answer->output);
  if (!info)
    co_return fail(
        unavailable(engine_->kind(), "the engine described the image in an unknown form", "update the engine"));
  co_return std::move(*info);
}

async::task<result<void>> image_store::pull(std::vector<std::string> engine_args, std::string image,
                                            progress_fn progress) {
  if (progress) progress("pull", "pulling " + image, std::nullopt, std::nullopt);
  auto counted = std::make_shared<pull_progress>();
  const pipe_reader::observer observer = [counted, progress](std::string_view text) {
    if (counted->add(text) && progress) progress("pull", counted->last_line(), counted->done(), counted->total());
  };
  auto pulling = engine_->run(words(std::move(engine_args), {"pull", "--", image}), 30min, observer);
  auto answer = co_await std::move(pulling);
  if (!answer) co_return fail(std::move(answer.error()));
  if (answer->code != 0) co_return fail(explain_engine(engine_->kind(), answer->errors));
  co_return result<void>();
}

// Out of a container that is made for it and never started: no program of the image runs.
async::task<result<void>> image_store::read_accounts(std::vector<std::string> engine_args, std::string image,
                                                     image_info& info) {
  if (const auto known = accounts_.find(info.id); known != accounts_.end()) {
    std::tie(info.passwd, info.group) = known->second;
    co_return result<void>();
  }
  const std::string name = scratch_name();
  auto making =
      engine_->run(words(engine_args, {"create", "--pull=never", "--name=" + name, "--label=sbx.daemon=" + label_,
                                       "--network=none", "--entrypoint=/none", "--", image}),
                   60s);
  auto made = co_await std::move(making);
  if (!made) co_return fail(std::move(made.error()));
  if (made->code != 0) co_return fail(explain_engine(engine_->kind(), made->errors));
  for (const char* file : {"/etc/passwd", "/etc/group"}) {
    auto copying = engine_->run(words(engine_args, {"cp", name + ":" + file, "-"}), 30s);
    auto copied = co_await std::move(copying);
    std::string content = copied && copied->code == 0 ? first_file_of_tar(copied->output).value_or("") : "";
    (std::string_view(file) == "/etc/passwd" ? info.passwd : info.group) = std::move(content);
  }
  auto removing = engine_->run(words(engine_args, {"rm", "--force", "--volumes", "--", name}), 30s);
  co_await std::move(removing);
  if (accounts_.size() >= known_max) accounts_.clear();
  accounts_[info.id] = {info.passwd, info.group};
  co_return result<void>();
}

}  // namespace sbx::sandbox
