#include "client/exec_call.hpp"

#include <poll.h>

#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>

#include "client/common_options.hpp"
#include "client/signals.hpp"
#include "proto/methods/system.hpp"

namespace sbx::client {
namespace {

using clock = std::chrono::steady_clock;

class exec_call {
 public:
  exec_call(connection& link, stdio_plan plan) : link_(link), plan_(std::move(plan)) {}
  outcome<proto::document> run(const proto::exec_run_params& params);
  int cancelled_by() const { return cancelled_by_; }

 private:
  outcome<void> poll_once(int timeout_ms);
  outcome<void> take_messages();
  outcome<void> take_signals();
  outcome<void> pass_signal(const char* name);
  outcome<void> cancel(int number);
  void drain_output();
  bool output_open() const;

  connection& link_;
  stdio_plan plan_;
  signal_reader signals_{SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  std::int64_t id_ = 0;
  std::int64_t signal_id_ = 0;  // of the exec.signal last sent
  int interrupts_ = 0, cancelled_by_ = 0;
  bool moved_ = false;
  std::optional<outcome<proto::document>> answer_;
};

outcome<proto::document> exec_call::run(const proto::exec_run_params& params) {
  auto sent = link_.send(proto::exec_run::name, proto::encode_text(params), plan_.fds);
  if (!sent) return fail(std::move(sent.error()));
  id_ = *sent;
  plan_.pipe_ends.clear();
  while (!answer_)
    if (auto done = poll_once(-1); !done) return fail(std::move(done.error()));
  if (*answer_) drain_output();
  return std::move(*answer_);
}

outcome<void> exec_call::poll_once(int timeout_ms) {
  std::vector<pollfd> waits = {{signals_.fd().get(), POLLIN, 0}, {link_.fd().get(), POLLIN, 0}};
  std::vector<pump*> waiting;
  for (pump& one : plan_.pumps) {
    if (one.done() || (answer_ && one.way() == direction::in)) continue;
    waits.push_back(one.wanted());
    waiting.push_back(&one);
  }
  if (answer_) waits[1].fd = -1;
  moved_ = false;
  if (::poll(waits.data(), waits.size(), timeout_ms) < 0 && errno != EINTR)
    return fail(system_failure(errno, "Waiting"));
  for (std::size_t n = 0; n < waiting.size(); ++n) {
    if (waits[n + 2].revents == 0) continue;
    waiting[n]->step();
    moved_ = true;
  }
  if (waits[0].revents != 0)
    if (auto done = take_signals(); !done) return done;
  if (waits[1].revents == 0) return {};
  if (auto came = link_.receive(); !came) return came;
  return take_messages();
}

outcome<void> exec_call::take_messages() {
  while (auto one = link_.next()) {
    auto* answer = std::get_if<proto::response>(&*one);
    if (!answer) continue;
    if (answer->id == proto::request_id(id_) || (answer->error && answer->id.is_null())) {
      if (answer->error)
        answer_ = fail(failure(std::move(*answer->error)));
      else
        answer_ = std::move(answer->result);
    } else if (answer->error && answer->id == proto::request_id(signal_id_)) {
      // Nothing runs yet that could be signalled: end the request instead.
      if (auto done = cancel(SIGINT); !done) return done;
    }
  }
  return {};
}

outcome<void> exec_call::pass_signal(const char* name) {
  proto::exec_signal_params params;
  params.id = proto::request_id(id_);
  params.signal = name;
  auto sent = link_.send(proto::exec_signal::name, proto::encode_text(params));
  if (!sent) return fail(std::move(sent.error()));
  signal_id_ = *sent;
  return {};
}

outcome<void> exec_call::cancel(int number) {
  cancelled_by_ = number;
  proto::cancel_params params;
  params.id = proto::request_id(id_);
  return link_.notify("$/cancelRequest", proto::encode_text(params));
}

outcome<void> exec_call::take_signals() {
  while (const auto number = signals_.next()) {
    const bool interrupt = *number == SIGINT || *number == SIGQUIT;
    if (interrupt) ++interrupts_;
    auto done = !interrupt || interrupts_ > 1 ? cancel(*number) : pass_signal(*number == SIGINT ? "SIGINT" : "SIGQUIT");
    if (!done) return done;
  }
  return {};
}

bool exec_call::output_open() const {
  for (const pump& one : plan_.pumps)
    if (one.way() == direction::out && !one.done()) return true;
  return false;
}

// What the command wrote is in our pipes by now. What a background process keeps open is waited for as the daemon does.
void exec_call::drain_output() {
  constexpr auto quiet = std::chrono::milliseconds(50);
  const auto end = clock::now() + std::chrono::milliseconds(500);
  bool limited = false;
  while (output_open()) {
    if (auto done = poll_once(static_cast<int>(quiet.count())); !done) return;
    if (limited || (moved_ && clock::now() < end)) continue;
    for (pump& one : plan_.pumps) one.limit_to_available();
    limited = true;
  }
}

int finish(app& a, const proto::exec_run_result& result) {
  if (!result.exit) return exit_unavailable;
  if (const std::string text = describe_end(*result.exit); !text.empty()) a.note(text);
  return exit_code_of(*result.exit);
}

}  // namespace

int run_command(app& a, connection& link, proto::exec_run_params params, stdin_use use) {
  auto plan = plan_stdio(use, a.json() ? output_use::capture : output_use::pass);
  if (!plan) return a.print_failure(plan.error(), exit_unavailable);
  if (plan->in) params.input.emplace().fd = static_cast<std::int64_t>(*plan->in);
  if (plan->out) params.stdout_fd.emplace(static_cast<std::int64_t>(*plan->out));
  if (plan->err) params.stderr_fd.emplace(static_cast<std::int64_t>(*plan->err));
  exec_call call(link, std::move(*plan));
  auto answer = call.run(params);
  if (!answer) {
    if (answer.error().wire && answer.error().wire->kind == proto::error_kind::cancelled)
      return 128 + call.cancelled_by();
    const int code = answer.error().exit_code;
    return a.print_failure(answer.error(), code == exit_error ? exit_unavailable : code);
  }
  auto result = connection::read_as<proto::exec_run>(*answer);
  if (!result) return a.print_failure(result.error(), exit_unavailable);
  if (a.json()) a.print_json(*result->raw);
  return finish(a, result->value);
}

}  // namespace sbx::client
