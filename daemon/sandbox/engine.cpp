#include "daemon/sandbox/engine.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "daemon/async/run.hpp"
#include "daemon/sandbox/factory.hpp"
#include "daemon/sandbox/unavailable.hpp"

namespace sbx::sandbox {
namespace {

struct pipe_ends {
  pipe_ends() = default;
  sys::unique_fd read_end, write_end;
};

result<pipe_ends> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_system(errno, "making a pipe");
  pipe_ends made;
  made.read_end.reset(ends[0]);
  made.write_end.reset(ends[1]);
  return made;
}

// Ends a helper that its caller no longer waits for.
struct killed_at_exit {
  explicit killed_at_exit(std::shared_ptr<helper> who_) : who(std::move(who_)) {}
  killed_at_exit(const killed_at_exit&) = delete;
  ~killed_at_exit() { who->kill(); }
  std::shared_ptr<helper> who;
};

// The end of the program is what counts; a descendant that keeps its pipes open is not waited for long.
async::task<void> await_all(std::shared_ptr<helper> program, std::shared_ptr<pipe_reader> output,
                            std::shared_ptr<pipe_reader> errors) {
  co_await program->wait_ended();
  const auto drained = [](std::shared_ptr<pipe_reader> a, std::shared_ptr<pipe_reader> b) -> async::task<void> {
    co_await a->wait_closed();
    co_await b->wait_closed();
  };
  auto both = drained(output, errors);
  auto pending = async::with_deadline(std::move(both), std::chrono::milliseconds(200));
  co_await std::move(pending);
}

std::string environment_value(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

engine::engine(async::asio::io_context& context, helper_keeper& keeper, backend_kind kind, const std::string& program)
    : context_(context), keeper_(keeper), kind_(kind), name_(program), path_(sys::find_program(program, environment_value("PATH"))) {
  for (char** variable = environ; *variable != nullptr; ++variable) {
    // What the daemon was told about its own socket and supervisor is nobody else's business.
    const std::string_view text(*variable);
    if (!text.starts_with("NOTIFY_SOCKET=") && !text.starts_with("LISTEN_") && !text.starts_with("WATCHDOG_"))
      environment_.emplace_back(text);
  }
}

async::task<result<engine_answer>> engine::run(std::vector<std::string> arguments, std::chrono::milliseconds limit,
                                               pipe_reader::observer on_errors, std::size_t output_bytes_max) {
  const std::string name(name_of(kind_));
  if (!path_) co_return fail(unavailable(kind_, name_ + " is not installed", "install " + name + ", or choose another backend"));
  auto output = make_pipe();
  auto errors = make_pipe();
  if (!output || !errors) co_return fail(unavailable(kind_, "too many open files", "raise the limit of open files", retry::worthwhile));
  sys::child_setup setup;
  setup.path = *path_;
  setup.argv = {*path_};
  setup.argv.insert(setup.argv.end(), arguments.begin(), arguments.end());
  setup.env = environment_;
  setup.descriptors = {{output->write_end, 1}, {errors->write_end, 2}};
  setup.death_signal = SIGKILL;
  auto started = keeper_.start(setup);
  if (!started)
    co_return fail(unavailable(kind_, "starting " + *path_ + ": " + std::strerror(started.error().number), "reinstall " + name));
  output->write_end.reset();
  errors->write_end.reset();
  auto output_text = std::make_shared<pipe_reader>(pipe_reader::keep::first, output_bytes_max);
  auto error_text = std::make_shared<pipe_reader>(pipe_reader::keep::last, 4096, std::move(on_errors));
  keeper_.read(std::move(output->read_end), output_text);
  keeper_.read(std::move(errors->read_end), error_text);
  const killed_at_exit guard(*started);
  auto all = await_all(*started, output_text, error_text);
  auto pending = async::with_deadline(std::move(all), limit);
  if (!co_await std::move(pending)) {
    auto cause = name + " did not answer within " + std::to_string(limit.count() / 1000) + " s: " + tidy(error_text->text());
    co_return fail(unavailable(kind_, std::move(cause), "see whether the engine is well: " + name + " info", retry::worthwhile));
  }
  engine_answer answer;
  const int status = (*started)->status();
  answer.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  answer.output = output_text->text();
  answer.errors = error_text->text();
  co_return answer;
}

}  // namespace sbx::sandbox
