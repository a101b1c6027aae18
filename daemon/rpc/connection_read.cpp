// connection: from bytes to messages.
#include <utility>

#include "daemon/async/run.hpp"
#include "daemon/rpc/connection.hpp"

namespace sbx::rpc {

namespace {

// A reader that is ahead gives the others a turn after so many full buffers.
constexpr int receives_in_a_row = 8;

// How long and how much a client may go on writing after we gave up on its stream.
constexpr auto linger_time = std::chrono::seconds(2);
constexpr std::size_t linger_bytes = 64u << 20;

async::task<void> discard_input(channel& from) {
  for (std::size_t taken = 0; taken < linger_bytes;) {
    const auto got = from.receive();
    if (got.how == channel::io::ended) co_return;
    taken += got.bytes.size();
    if (got.filled) continue;
    auto pending = from.wait_readable();
    co_await std::move(pending);
  }
}

}  // namespace

async::task<void> connection::read_until_end() {
  while (!gone_) {
    auto consuming = consume_frames();
    const bool healthy = co_await std::move(consuming);
    if (!healthy || gone_) co_return;
    const auto seen = changed_.generation();
    if (paused()) {
      auto pending = changed_.wait_past(seen);
      co_await std::move(pending);
      continue;
    }
    if (ended_) co_return;
    auto pending = channel_.wait_readable();
    co_await std::move(pending);
    receive();
  }
}

void connection::receive() {
  for (int i = 0; i < receives_in_a_row; ++i) {
    auto got = channel_.receive();
    if (got.how == channel::io::would_block) return;
    if (got.how == channel::io::ended) {
      parser_.finish();
      ended_ = true;
      return;
    }
    const std::uint64_t begin = parser_.fed();
    parser_.feed(got.bytes);
    claims_.add(begin, parser_.fed(), std::move(got.bundle));
    if (!got.filled) return;
  }
}

async::task<bool> connection::consume_frames() {
  while (!gone_ && !paused()) {
    auto next = parser_.next();
    if (!next) {
      claims_.settle(parser_.pending_begin());
      if (!parser_.failure()) co_return true;
      failed_ = true;
      stop_all(stop_reason::cancelled);
      answer(nullptr, proto::request_id(), failure(*parser_.failure()));
      co_return false;
    }
    fd_bundle bundle;
    if (!claims_.empty()) bundle = claims_.claim(next->begin, parser_.pending_begin());
    auto handling = handle_frame(std::move(*next), std::move(bundle));
    co_await std::move(handling);
  }
  co_return true;
}

async::task<void> connection::handle_frame(proto::frame frame, fd_bundle bundle) {
  proto::parse_limits limits;
  limits.depth_max = shared_->limits.frame_depth;
  proto::parsed_frame parsed;
  if (frame.text.size() <= shared_->limits.parse_inline_bytes) {
    parsed = proto::parse_frame(frame.text, limits);
  } else {
    // On a thread, so that a long frame does not hold the reactor. The order of frames stays: nothing is read
    // meanwhile.
    auto job = [text = std::move(frame.text), limits](const async::stop_flag&) {
      return proto::parse_frame(text, limits);
    };
    auto pending = shared_->pool->run("parsing", std::move(job));
    parsed = co_await std::move(pending);
  }
  if (!parsed.batch) {
    for (proto::message& m : parsed.messages) handle_message(m, std::move(bundle), nullptr);
  } else {
    auto batch = std::make_shared<batch_answers>();
    batch->missing = 1;  // until all have been looked at
    for (proto::message& m : parsed.messages) handle_message(m, fd_bundle(), batch);
    --batch->missing;
    finish_batch(batch);
  }
  start_calls();
}

async::task<void> connection::linger() {
  if (!failed_ || gone_) co_return;
  channel_.shut_writing();
  auto discarding = async::with_deadline(discard_input(channel_), linger_time);
  co_await std::move(discarding);
}

}  // namespace sbx::rpc
