// What a session holds of a job or a terminal.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/api/core.hpp"
#include "daemon/process/recording.hpp"
#include "proto/methods/job.hpp"

namespace sbx::api {

// Takes its place in the session before the command starts. All members on the registry's strand.
class recording_handle final : public workspace::handle {
 public:
  recording_handle(workspace::handle_kind kind, std::string id, std::string workspace);

  // Waits for the start in progress, if there is one; then ends what was started.
  async::task<void> end() override;
  bool active() const override;

  void started(std::shared_ptr<process::recording> what);
  void failed();  // nothing was started; it is to be removed

  // Null while it starts.
  const std::shared_ptr<process::recording>& what() const { return what_; }
  bool ending() const { return ending_; }

  // As it was asked for.
  std::optional<std::string> line;
  std::optional<std::vector<std::string>> argv;
  bool hidden = false;              // an exec.run that may yet become a job
  std::function<void()> interrupt;  // of such a one: ends its command
  bool fully_read = false;
  std::optional<std::chrono::steady_clock::time_point> closed_at;

 private:
  std::shared_ptr<process::recording> what_;
  async::event settled_;
  bool ending_ = false;
};

// Closed ones are kept until collected: at most 256 and one hour a session; fully read ones go first, then the oldest.
void forget_old(workspace::session& session);

// Notes when it closes, and forgets what is too old or too many then. Keeps itself until that.
async::task<void> watch_closing(std::shared_ptr<workspace::session> session, std::shared_ptr<recording_handle> handle);

// Finds one that has started: no_such_handle before that too. `where` is found, and who has a say has been asked.
struct found_recording {
  found_recording() = default;
  std::shared_ptr<workspace::session> session;
  std::shared_ptr<recording_handle> handle;
  std::shared_ptr<process::recording> what;
};
async::task<result<found_recording>> find_recording(core& c, rpc::call_context& call, std::string_view method,
                                                    std::optional<std::string> session, workspace::handle_kind kind,
                                                    std::string id);

// Of a session, started ones only.
async::task<result<std::vector<found_recording>>> list_recordings(core& c, rpc::call_context& call,
                                                                  std::string_view method,
                                                                  std::optional<std::string> session,
                                                                  workspace::handle_kind kind);

void set_fully_read(core& c, std::shared_ptr<recording_handle> handle);
void forget(core& c, std::shared_ptr<workspace::session> session, std::string id);

// How text is read when that encoding was asked for.
process::reading reading_for(const std::optional<proto::encoding>& forced);

// --- what job.* and pty.* share ---
async::task<proto::log_read_result> read_log(core& c, found_recording of, process::stream_id stream,
                                             proto::read_window window);
async::task<proto::wait_result> wait_for(std::shared_ptr<process::recording> what,
                                         std::optional<std::int64_t> timeout_ms);
async::task<proto::wait_result> stop_recording(std::shared_ptr<process::recording> what,
                                               std::optional<std::int64_t> grace_ms);
proto::wait_result describe_end(const process::recording& what);

// Notifications of a followed recording: what they are called and how they look.
struct follow_notes {
  follow_notes() = default;
  std::string_view output, exited, closed;
  std::function<std::string(process::stream_id, process::log_chunk, std::optional<proto::encoding>)> output_text;
  std::function<std::string(const process::exit_status&)> exited_text;
  std::string closed_text;
};
// From now on this connection gets the recording's output at its own pace. An earlier follow of the same is replaced.
void start_following(core& c, rpc::call_context& call, found_recording of, std::int64_t offset,
                     std::optional<proto::encoding> forced, follow_notes notes);
// True when there was one to end.
bool stop_following(rpc::call_context& call, const std::string& id);

}  // namespace sbx::api
