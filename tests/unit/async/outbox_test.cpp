#include "daemon/async/outbox.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>

#include "daemon/async/task_group.hpp"

using namespace sbx::async;

namespace {
outgoing_frame frame(std::string bytes) {
  return outgoing_frame(std::move(bytes));
}
outbox_limits small() {
  outbox_limits limits;
  limits.reply_bytes = 10;
  limits.stream_bytes = 10;
  return limits;
}
task<void> wait_room(outbox& box, int& answer) {
  const bool room = co_await box.room();
  answer = room ? 1 : 0;
}
}  // namespace

TEST_CASE("outbox: replies go before streams, but a begun frame is finished first") {
  outbox box;
  CHECK(box.try_push_stream(frame("stream1")));
  CHECK(box.try_push_stream(frame("stream2")));
  CHECK(box.front()->bytes == "stream1");
  box.consume(3);
  box.push_reply(frame("reply"));
  CHECK(box.front()->bytes == "stream1");
  CHECK(box.written() == 3);
  box.consume(4);
  CHECK(box.front()->bytes == "reply");
  box.consume(5);
  CHECK(box.front()->bytes == "stream2");
  box.consume(7);
  CHECK(box.front() == nullptr);
  CHECK(box.empty());
  CHECK(box.bytes() == 0);
}

TEST_CASE("outbox: streams are refused when full and told of room") {
  asio::io_context io;
  outbox box(small());
  task_group group(io.get_executor());
  CHECK(box.try_push_stream(frame("more than ten bytes")));
  CHECK_FALSE(box.try_push_stream(frame("x")));
  int answer = -1;
  group.spawn("room", wait_room(box, answer));
  io.poll();
  CHECK(answer == -1);
  box.front();
  box.consume(19);
  io.poll();
  CHECK(answer == 1);
}

TEST_CASE("outbox: closing tells waiters and drops everything") {
  asio::io_context io;
  outbox box(small());
  task_group group(io.get_executor());
  CHECK(box.try_push_stream(frame("0123456789")));
  box.push_reply(frame("0123456789"));
  CHECK(box.replies_full());
  int answer = -1;
  group.spawn("room", wait_room(box, answer));
  io.poll();
  box.close();
  io.restart();
  io.poll();
  CHECK(answer == 0);
  CHECK(box.empty());
  CHECK_FALSE(box.try_push_stream(frame("x")));
}

TEST_CASE("outbox: descriptors are closed once the first bytes are gone") {
  outbox box;
  auto f = frame("abc");
  const int raw = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  f.fds.emplace_back(raw);
  box.push_reply(std::move(f));
  box.front();
  CHECK(::fcntl(raw, F_GETFD) >= 0);
  box.consume(1);
  CHECK(::fcntl(raw, F_GETFD) < 0);
}
