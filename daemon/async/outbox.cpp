#include "daemon/async/outbox.hpp"

#include <utility>

namespace sbx::async {

outbox::outbox(outbox_limits wanted) : limits_(wanted) {}

void outbox::push_reply(outgoing_frame frame) {
  if (closed_) return;
  reply_bytes_ += frame.bytes.size();
  replies_.push_back(std::move(frame));
}

bool outbox::try_push_stream(outgoing_frame frame) {
  if (closed_) return false;
  if (stream_bytes_ != 0 && stream_bytes_ + frame.bytes.size() > limits_.stream_bytes) return false;
  stream_bytes_ += frame.bytes.size();
  streams_.push_back(std::move(frame));
  return true;
}

task<bool> outbox::room() {
  for (;;) {
    const auto seen = changed_.generation();
    if (closed_) co_return false;
    // Half empty, so that a waiter is woken for more than one small frame.
    if (stream_bytes_ <= limits_.stream_bytes / 2) co_return true;
    auto pending = changed_.wait_past(seen);
    co_await std::move(pending);
  }
}

task<void> outbox::replies_drained() {
  for (;;) {
    const auto seen = changed_.generation();
    if (closed_ || !replies_full()) co_return;
    auto pending = changed_.wait_past(seen);
    co_await std::move(pending);
  }
}

outgoing_frame* outbox::front() {
  if (current_ == nullptr) {
    if (!replies_.empty())
      current_ = &replies_;
    else if (!streams_.empty())
      current_ = &streams_;
    else
      return nullptr;
    written_ = 0;
  }
  return &current_->front();
}

void outbox::consume(std::size_t count) {
  if (current_ == nullptr || count == 0) return;
  outgoing_frame& frame = current_->front();
  frame.fds.clear();
  written_ += count;
  if (written_ < frame.bytes.size()) return;
  std::size_t& total = current_ == &replies_ ? reply_bytes_ : stream_bytes_;
  total -= frame.bytes.size();
  current_->pop_front();
  current_ = nullptr;
  changed_.notify_all();
}

void outbox::close() {
  closed_ = true;
  current_ = nullptr;
  replies_.clear();
  streams_.clear();
  reply_bytes_ = stream_bytes_ = 0;
  changed_.notify_all();
}

}  // namespace sbx::async
