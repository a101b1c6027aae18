// The bodies of fixture.hpp (named so that the test program takes it in).
#include "tests/unit/rpc/fixture.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>

#include <cstdlib>
#include <stdexcept>

namespace sbx::rpc::test {

namespace {

struct note_end {
  explicit note_end(std::atomic<int>& count_) : count(count_) {}
  ~note_end() { ++count; }
  std::atomic<int>& count;
};

async::task<outcome> ping(call_context&, proto::document) {
  co_return outcome(std::string("{\"pong\":true}"));
}

async::task<outcome> fails(call_context&, proto::document) {
  throw std::runtime_error("broken on purpose");
  co_return outcome(std::string("{}"));
}

async::task<outcome> big(call_context& context, proto::document) {
  constexpr std::size_t bytes = 1u << 20;
  auto room = context.reserve_reply(bytes);
  co_await std::move(room);
  co_return outcome("\"" + std::string(bytes, 'x') + "\"");
}

async::task<outcome> count_fds(call_context& context, proto::document) {
  std::size_t count = 0;
  while (context.take_fd(count)) ++count;
  co_return outcome(std::to_string(count));
}

async::task<outcome> give_fd(call_context& context, proto::document) {
  context.reply_fd(sys::unique_fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)));
  co_return outcome(std::string("{\"fd\":0}"));
}

async::task<outcome> barrier(call_context&, proto::document) {
  co_await async::sleep_for(50ms);
  co_return outcome(std::string("\"barrier\""));
}

async::task<outcome> stubborn(call_context& context, proto::document) {
  auto stopped = context.stopping().wait();
  co_await std::move(stopped);
  co_await async::sleep_for(50ms);  // ends its tree first
  co_return failure(error(error_kind::cancelled, "It was cancelled."));
}

async::task<void> sleep_until_stopped(std::atomic<int>& ended) {
  const note_end note(ended);
  co_await async::sleep_for(1h);
}

}  // namespace

void running_server::add_methods() {
  methods_.add("ping", ping);
  methods_.add("throw", fails);
  methods_.add("big", big);
  methods_.add("fds", count_fds);
  methods_.add("give", give_fd);
  methods_.add("barrier", barrier, ordering::barrier);
  methods_.add("stubborn", stubborn, ordering::concurrent, stop_style::ask);
  methods_.add("sleep", [this](call_context&, proto::document) -> async::task<outcome> {
    ++slept;
    auto sleeping = sleep_until_stopped(sleeps_ended);
    co_await std::move(sleeping);
    co_return outcome(std::string("{}"));
  });
  methods_.add("notify", [](call_context& context, proto::document) -> async::task<outcome> {
    context.connection()->notify("hello", "{\"n\":1}");
    context.progress("working", "half way", 1, 2);
    co_return outcome(std::string("{}"));
  });
  methods_.add("ask", [](call_context& context, proto::document) -> async::task<outcome> {
    auto asking = context.connection()->request("question", "{}");
    const auto got = co_await std::move(asking);
    co_return outcome(std::string(got ? "\"answered\"" : "\"failed\""));
  });
}

running_server::running_server(server_limits limits) {
  services_->methods = &methods_;
  services_->limits = limits;
  services_->pool = &pool_;
  services_->failures = [this](std::string_view, std::exception_ptr) { ++failures_; };
  add_methods();
  auto bound = socket_file::bind(path());
  REQUIRE(bound);
  socket_ = std::move(*bound);
  server_.listen(socket_.take_listener());
  // Several under a sanitizer, to prove the strands.
  const char* wanted = std::getenv("SBX_REACTOR_THREADS");
  const int count = wanted == nullptr ? 1 : std::atoi(wanted);
  for (int i = 0; i < count; ++i) threads_.emplace_back([this] { io_.run(); });
}

namespace {
async::task<void> drain_then_tell(rpc::server& server, std::atomic<bool>& drained) {
  auto draining = server.drain();
  co_await std::move(draining);
  drained = true;
}
}  // namespace

void running_server::drain() {
  life_.spawn("draining", drain_then_tell(server_, drained));
}

running_server::~running_server() {
  server_.abort();
  life_.spawn("joining", server_.join());
  for (std::thread& t : threads_) t.join();
  CHECK(services_->count.connections == 0);
}

}  // namespace sbx::rpc::test
