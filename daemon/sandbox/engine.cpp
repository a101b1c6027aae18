#include "daemon/sandbox/engine.hpp"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "daemon/sandbox/factory.hpp"
#include "daemon/sandbox/unavailable.hpp"

namespace sbx::sandbox {
namespace {

std::string environment_value(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

engine::engine(helper_keeper& keeper, backend_kind kind, const std::string& program)
    : keeper_(keeper), kind_(kind), name_(program), path_(sys::find_program(program, environment_value("PATH"))) {
  for (char** variable = environ; *variable != nullptr; ++variable) {
    // What the daemon was told about its own socket and supervisor is nobody else's business.
    const std::string_view text(*variable);
    if (!text.starts_with("NOTIFY_SOCKET=") && !text.starts_with("LISTEN_") && !text.starts_with("WATCHDOG_"))
      environment_.emplace_back(text);
  }
}

async::task<result<program_answer>> engine::run(std::vector<std::string> arguments, std::chrono::milliseconds limit,
                                                pipe_reader::observer on_text, std::size_t output_bytes_max) {
  const std::string name(name_of(kind_));
  if (!path_)
    co_return fail(unavailable(kind_, name_ + " is not installed", "install " + name + ", or choose another backend"));
  sys::child_setup setup;
  setup.path = *path_;
  setup.argv = {*path_};
  setup.argv.insert(setup.argv.end(), arguments.begin(), arguments.end());
  setup.env = environment_;
  auto pending = run_program(keeper_, std::move(setup), limit, std::move(on_text), output_bytes_max);
  auto answer = co_await std::move(pending);
  if (!answer)
    co_return fail(
        unavailable(kind_, "starting " + *path_ + ": " + std::strerror(answer.error().number), "reinstall " + name));
  if (!answer->in_time) {
    auto cause = name + " did not answer within " + std::to_string(limit.count() / 1000) + " s " + tidy(answer->errors);
    co_return fail(
        unavailable(kind_, tidy(cause), "see whether the engine is well: " + name + " info", retry::worthwhile));
  }
  co_return std::move(*answer);
}

}  // namespace sbx::sandbox
