#include "client/attach.hpp"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "client/common_options.hpp"
#include "client/signals.hpp"
#include "client/terminal.hpp"

namespace sbx::client {
namespace {

constexpr std::size_t typed_bytes_max = 64 * 1024;  // more is left in our own terminal
constexpr int reconnect_tries = 25, reconnect_pause_ms = 200;

class attachment {
 public:
  attachment(app& a, connection& link, std::string pty) : app_(a), link_(&link), pty_(std::move(pty)) {}
  // How its command ended; nullopt when we left it.
  outcome<std::optional<proto::exit_info>> run();

 private:
  outcome<void> follow();
  outcome<void> poll_once();
  outcome<void> take_messages();
  void take_note(const proto::call& note);
  outcome<void> take_signals();
  outcome<void> take_typed();
  outcome<void> send_typed();
  outcome<void> resize();
  outcome<void> reconnect();
  void show_rest();
  template <class Method>
  outcome<std::int64_t> send(const typename Method::params& params) {
    return link_->send(Method::name, proto::encode_text(params));
  }

  app& app_;
  connection* link_;
  std::unique_ptr<connection> own_link_;  // after a reconnect
  std::string pty_;
  signal_reader signals_{SIGWINCH, SIGTERM, SIGHUP, SIGINT};
  detach_filter filter_;
  std::string typed_;
  std::size_t in_flight_bytes_ = 0;
  std::int64_t write_id_ = 0, follow_id_ = 0, offset_ = 0;
  bool typing_open_ = true, left_ = false;
  std::optional<proto::exit_info> end_;
  std::optional<failure> broken_;
};

bool write_out(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (written < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

outcome<std::optional<proto::exit_info>> attachment::run() {
  if (auto done = follow(); !done) return fail(std::move(done.error()));
  while (!end_ && !left_ && !broken_) {
    auto done = poll_once();
    if (done) continue;
    if (auto again = reconnect(); !again) return fail(std::move(again.error()));
  }
  if (broken_) return fail(std::move(*broken_));
  if (end_) show_rest();
  return end_;
}

// The end may be told before the last output is: what was written by then is read by its offset.
void attachment::show_rest() {
  proto::pty_read_params params;
  params.pty = pty_;
  params.window.encoding = proto::encoding::base64;  // no byte is held back
  for (int pieces = 0; pieces < 8; ++pieces) {       // a background process may write for ever
    params.window.offset = offset_;
    const auto answer = link_->call<proto::pty_read>(params);
    if (!answer || answer->value.content.bytes.empty() || !write_out(answer->value.content.bytes)) return;
    offset_ = answer->value.next_offset;
  }
}

outcome<void> attachment::follow() {
  proto::pty_follow_params params;
  params.pty = pty_;
  params.offset = offset_;
  auto sent = send<proto::pty_follow>(params);
  if (!sent) return fail(std::move(sent.error()));
  follow_id_ = *sent;
  return resize();
}

outcome<void> attachment::poll_once() {
  const bool may_type = typing_open_ && typed_.size() < typed_bytes_max;
  pollfd waits[] = {
      {signals_.fd().get(), POLLIN, 0}, {link_->fd().get(), POLLIN, 0}, {may_type ? STDIN_FILENO : -1, POLLIN, 0}};
  if (::poll(waits, 3, -1) < 0 && errno != EINTR) return fail(system_failure(errno, "Waiting"));
  if (waits[0].revents != 0)
    if (auto done = take_signals(); !done) return done;
  if (waits[2].revents != 0)
    if (auto done = take_typed(); !done) return done;
  if (waits[1].revents == 0) return {};
  if (auto came = link_->receive(); !came) return came;
  return take_messages();
}

outcome<void> attachment::take_messages() {
  while (auto one = link_->next()) {
    if (const auto* note = std::get_if<proto::call>(&*one)) take_note(*note);
    auto* answer = std::get_if<proto::response>(&*one);
    if (!answer) continue;
    if (answer->error && (answer->id == proto::request_id(follow_id_) || answer->id.is_null()))
      broken_.emplace(std::move(*answer->error));
    if (answer->id != proto::request_id(write_id_)) continue;
    write_id_ = 0;
    if (answer->error) {  // it has ended, or is gone: follow tells
      typed_.clear();
      continue;
    }
    const auto written = proto::decode<proto::write_result>(*answer->result, proto::unknown_members::skip);
    const auto accepted = written ? static_cast<std::size_t>(written->accepted_bytes) : 0;
    typed_.erase(0, std::min({accepted, in_flight_bytes_, typed_.size()}));
    if (auto done = send_typed(); !done) return done;
  }
  return {};
}

void attachment::take_note(const proto::call& note) {
  if (!note.params) return;
  constexpr auto skip = proto::unknown_members::skip;
  if (note.method == proto::pty_output_note::name) {
    const auto told = proto::decode<proto::pty_output_note>(*note.params, skip);
    if (!told || told->pty != pty_) return;
    offset_ = told->offset + static_cast<std::int64_t>(told->content.bytes.size());
    if (!write_out(told->content.bytes)) left_ = true;
  } else if (note.method == proto::pty_exited_note::name) {
    auto told = proto::decode<proto::pty_exited_note>(*note.params, skip);
    if (told && told->pty == pty_) end_ = std::move(told->exit);
  }
}

outcome<void> attachment::take_signals() {
  while (const auto number = signals_.next()) {
    if (*number == SIGWINCH) {
      if (auto done = resize(); !done) return done;
    } else if (*number == SIGINT) {  // sent to us by somebody: typed ones arrive as a byte
      proto::pty_signal_params params;
      params.pty = pty_;
      params.signal = "SIGINT";
      if (auto sent = send<proto::pty_signal>(params); !sent) return fail(std::move(sent.error()));
    } else {
      left_ = true;
    }
  }
  return {};
}

outcome<void> attachment::take_typed() {
  char bytes[4096];
  const ssize_t size = ::read(STDIN_FILENO, bytes, sizeof(bytes));
  if (size < 0 && (errno == EINTR || errno == EAGAIN)) return {};
  if (size <= 0) {
    typing_open_ = false;
    if (::isatty(STDIN_FILENO))
      left_ = true;
    else
      typed_ += '\x04';
  } else {
    typed_ += filter_.feed(std::string_view(bytes, static_cast<std::size_t>(size)));
  }
  if (filter_.detached()) left_ = true;
  return send_typed();
}

outcome<void> attachment::send_typed() {
  if (typed_.empty() || write_id_ != 0) return {};
  proto::pty_write_params params;
  params.pty = pty_;
  params.content.bytes = typed_.substr(0, 16 * 1024);
  params.content.forced = proto::encoding::base64;  // a key may come in pieces
  params.wait_ms = 1000;
  in_flight_bytes_ = params.content.bytes.size();
  auto sent = send<proto::pty_write>(params);
  if (!sent) return fail(std::move(sent.error()));
  write_id_ = *sent;
  return {};
}

outcome<void> attachment::resize() {
  const auto screen = current_screen();
  if (!screen) return {};
  proto::pty_resize_params params;
  params.pty = pty_;
  params.rows = screen->rows;
  params.cols = screen->cols;
  if (auto sent = send<proto::pty_resize>(params); !sent) return fail(std::move(sent.error()));
  return {};
}

outcome<void> attachment::reconnect() {
  failure last(exit_unavailable, "The connection was lost.");
  for (int n = 0; n < reconnect_tries && !left_; ++n) {
    auto made = app_.open_attached();
    if (made) {
      own_link_ = std::move(*made);
      link_ = own_link_.get();
      write_id_ = 0;
      return follow();
    }
    last = std::move(made.error());
    pollfd wait{signals_.fd().get(), POLLIN, 0};
    if (::poll(&wait, 1, reconnect_pause_ms) > 0)
      while (const auto number = signals_.next()) left_ |= *number != SIGWINCH;
  }
  return fail(std::move(last));
}

// Attaches in raw mode.
outcome<std::optional<proto::exit_info>> attach_raw(app& a, connection& link, const std::string& pty) {
  raw_mode raw;
  attachment shown(a, link, pty);
  return shown.run();
}

int tell_end(app& a, const outcome<std::optional<proto::exit_info>>& ended, const std::string& pty) {
  if (!ended) {
    const int code = ended.error().exit_code;
    return a.print_failure(ended.error(), code == exit_error ? exit_unavailable : code);
  }
  if (!*ended) {
    a.note("left " + pty + " running; `sbxctl attach " + pty + "` returns to it.");
    return 0;
  }
  if (const std::string text = describe_end(**ended); !text.empty()) a.note(text);
  return exit_code_of(**ended);
}

}  // namespace

int run_on_terminal(app& a, connection& link, proto::pty_open_params params) {
  if (const auto screen = current_screen()) {
    params.rows = screen->rows;
    params.cols = screen->cols;
  }
  if (const char* term = std::getenv("TERM"); term && *term) params.term = term;
  auto opened = link.call<proto::pty_open>(params);
  if (!opened) {
    const int code = opened.error().exit_code;
    return a.print_failure(opened.error(), code == exit_error ? exit_unavailable : code);
  }
  const std::string& pty = opened->value.pty;
  const auto ended = attach_raw(a, link, pty);
  if (ended && *ended) {
    proto::pty_close_params closing;
    closing.pty = pty;
    (void)link.call<proto::pty_close>(
        closing);  // what it left running ends with its terminal; a lost one is closed anyway
  }
  return tell_end(a, ended, pty);
}

int attach_terminal(app& a, connection& link, const std::string& pty) {
  return tell_end(a, attach_raw(a, link, pty), pty);
}

}  // namespace sbx::client
