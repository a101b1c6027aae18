// What waits to be written to one connection: a queue with bounds, replies before streams.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "daemon/async/event.hpp"
#include "daemon/async/task.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::async {

// One frame, complete with its framing. Descriptors leave with its first byte.
struct outgoing_frame {
  outgoing_frame() = default;
  explicit outgoing_frame(std::string bytes_) : bytes(std::move(bytes_)) {}
  std::string bytes;
  std::vector<sys::unique_fd> fds;
};

struct outbox_limits {
  outbox_limits() = default;
  std::size_t reply_bytes = 8u << 20, stream_bytes = 1u << 20;
};

// Lives on the connection's strand. A frame once begun is finished before any other; between frames replies go first.
class outbox {
 public:
  explicit outbox(outbox_limits wanted = outbox_limits());

  // Never refused: whoever starts requests looks at replies_full() first.
  void push_reply(outgoing_frame frame);
  // Refused (false) when the stream part is full or the box is closed; an empty stream part takes any one frame.
  bool try_push_stream(outgoing_frame frame);

  // Answers true when there is room for stream frames, false once the box is closed.
  task<bool> room();
  // Answers when the replies are below their bound (or the box is closed).
  task<void> replies_drained();

  bool empty() const { return replies_.empty() && streams_.empty(); }
  bool replies_full() const { return reply_bytes_ >= limits_.reply_bytes; }
  bool streams_full() const { return stream_bytes_ >= limits_.stream_bytes; }
  bool closed() const { return closed_; }
  std::size_t bytes() const { return reply_bytes_ + stream_bytes_; }

  // The frame to go on writing, nullptr when there is none; `written` bytes of it are gone already.
  outgoing_frame* front();
  std::size_t written() const { return written_; }
  // Tells that `count` more bytes of front() were written; its descriptors are closed then (they went with byte one).
  void consume(std::size_t count);

  // Drops everything; nothing enters any more; waiters are told.
  void close();

 private:
  outbox_limits limits_;
  std::deque<outgoing_frame> replies_, streams_;
  std::size_t reply_bytes_ = 0, stream_bytes_ = 0, written_ = 0;
  std::deque<outgoing_frame>* current_ = nullptr;  // the queue whose front is being written
  bool closed_ = false;
  signal changed_;
};

}  // namespace sbx::async
