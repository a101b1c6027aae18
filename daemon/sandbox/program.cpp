#include "daemon/sandbox/program.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "daemon/async/run.hpp"

namespace sbx::sandbox {
namespace {

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

}  // namespace

result<pipe_ends> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_system(errno, "making a pipe");
  pipe_ends made;
  made.read_end.reset(ends[0]);
  made.write_end.reset(ends[1]);
  return made;
}

async::task<result<program_answer>> run_program(helper_keeper& keeper, sys::child_setup setup,
                                                std::chrono::milliseconds limit, pipe_reader::observer on_text,
                                                std::size_t output_bytes_max) {
  auto output = make_pipe();
  auto errors = make_pipe();
  if (!output) co_return fail(std::move(output.error()));
  if (!errors) co_return fail(std::move(errors.error()));
  setup.descriptors = {{output->write_end, 1}, {errors->write_end, 2}};
  setup.death_signal = SIGKILL;
  auto started = keeper.start(setup);
  if (!started) co_return fail(std::move(started.error()));
  output->write_end.reset();
  errors->write_end.reset();
  auto output_text = std::make_shared<pipe_reader>(pipe_reader::keep::first, output_bytes_max, on_text);
  auto error_text = std::make_shared<pipe_reader>(pipe_reader::keep::last, 4096, std::move(on_text));
  keeper.read(std::move(output->read_end), output_text);
  keeper.read(std::move(errors->read_end), error_text);
  const killed_at_exit guard(*started);
  auto all = await_all(*started, output_text, error_text);
  auto pending = async::with_deadline(std::move(all), limit);
  program_answer answer;
  answer.in_time = co_await std::move(pending);
  const int status = (*started)->status();
  answer.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  answer.output = output_text->text();
  answer.errors = error_text->text();
  co_return answer;
}

}  // namespace sbx::sandbox
