// connection: from answers to bytes.
#include <utility>

#include "daemon/rpc/connection.hpp"

namespace sbx::rpc {

void connection::answer(const std::shared_ptr<batch_answers>& batch, const std::optional<proto::request_id>& id,
                        const outcome& what, std::vector<sys::unique_fd> fds) {
  if (!id || gone_) return;
  std::string text = what ? proto::make_result(*id, *what) : proto::make_error(*id, what.error());
  if (batch)
    batch->texts.push_back(std::move(text));  // descriptors do not ride with a batch
  else
    send(std::move(text), std::move(fds));
}

void connection::finish_batch(const std::shared_ptr<batch_answers>& batch) {
  if (batch->missing != 0 || batch->texts.empty() || gone_) return;
  send(proto::make_batch(std::exchange(batch->texts, {})), {});
}

bool connection::notify(std::string_view method, std::string_view params_json) {
  if (gone_ || outbox_.streams_full()) return false;
  async::outgoing_frame frame(proto::wrap_frame(parser_.framing(), proto::make_notification(method, params_json)));
  if (!outbox_.try_push_stream(std::move(frame))) return false;
  flush();
  return true;
}

void connection::send(std::string text, std::vector<sys::unique_fd> fds) {
  if (gone_) return;
  async::outgoing_frame frame(proto::wrap_frame(parser_.framing(), std::move(text)));
  frame.fds = std::move(fds);
  outbox_.push_reply(std::move(frame));
  flush();
}

// Most replies leave here, with one system call and no waiting.
void connection::flush() {
  if (writing_ || write_some()) return;
  writing_ = true;
  io_.spawn("writing to a client", write_rest());
}

bool connection::write_some() {
  static const std::vector<sys::unique_fd> none;
  while (const auto* frame = outbox_.front()) {
    const std::size_t written = outbox_.written();
    const auto sent = channel_.send(std::string_view(frame->bytes).substr(written), written == 0 ? frame->fds : none);
    if (sent.how == channel::io::would_block) return false;
    if (sent.how == channel::io::ended) {
      lose();
      return true;
    }
    outbox_.consume(sent.count);
  }
  return true;
}

async::task<void> connection::write_rest() {
  for (;;) {
    auto pending = channel_.wait_writable();
    co_await std::move(pending);
    const bool done = write_some();
    if (done) writing_ = false;  // from here on another may be spawned
    start_calls();
    changed_.notify_all();
    if (done) co_return;
  }
}

}  // namespace sbx::rpc
