// An init that lies, stalls, floods or answers out of turn: its sandbox ends with a reason, and the daemon's end holds.
#include <dirent.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <thread>

#include "daemon/sandbox/message_reader.hpp"
#include "daemon/sys/init_wire.hpp"
#include "tests/unit/sandbox/init_fixture.hpp"

using namespace sbx;
using namespace sbx::sandbox;
using namespace sbx::sandbox::test;
namespace wire = sbx::sys::init_wire;

namespace {

int open_descriptors() {
  int count = 0;
  const std::unique_ptr<DIR, int (*)(DIR*)> all(::opendir("/proc/self/fd"), ::closedir);
  while (::readdir(all.get())) ++count;
  return count;
}

// What plays init, on a thread of its own, with blocking calls. Everything ends when the daemon's end does.
class player {
 public:
  explicit player(sys::unique_fd control) : control_(std::move(control)) {}

  template <class T>
  static void say(const sys::unique_fd& to, wire::message type, const T& body, std::vector<sys::fd_ref> fds = {}) {
    say_raw(to, make_message(type, 0, &body, sizeof body, {}, static_cast<std::uint32_t>(fds.size())), fds);
  }
  static void say(const sys::unique_fd& to, wire::message type) { say_raw(to, make_message(type, 0, nullptr, 0)); }
  static bool say_raw(const sys::unique_fd& to, const std::string& bytes, const std::vector<sys::fd_ref>& fds = {}) {
    for (;;) {
      const auto sent = sys::send_now(to, bytes, fds);
      if (!sent) return false;
      if (*sent > 0) return true;
      pollfd room{to.get(), POLLOUT, 0};
      if (::poll(&room, 1, 1000) <= 0) return false;
    }
  }

  // False at end-of-file.
  bool hear_setup() {
    wire::header head{};
    wire::setup body{};
    return hear(&head, sizeof head) && hear(&body, sizeof body) && head.type == wire::message::setup;
  }
  void say_ready() {
    wire::ready body{};
    body.version = wire::version;
    say(control_, wire::message::ready, body);
  }
  // The inner end of the next leash; none at end-of-file.
  sys::unique_fd hear_anchor() {
    for (;;) {
      wire::header head{};
      auto got = sys::receive_now(control_, reinterpret_cast<char*>(&head), sizeof head);
      if (!got || got->ended) return {};
      if (!got->would_block) return got->fds.empty() ? sys::unique_fd() : std::move(got->fds.front());
      pollfd readable{control_.get(), POLLIN, 0};
      if (::poll(&readable, 1, 5000) <= 0) return {};
    }
  }
  // True when a spawn came; its descriptors are closed.
  static bool hear_spawn(const sys::unique_fd& leash, int timeout_ms = 5000) {
    pollfd readable{leash.get(), POLLIN, 0};
    if (::poll(&readable, 1, timeout_ms) <= 0) return false;
    std::vector<char> room(wire::packet_bytes_max);
    const auto got = sys::receive_now(leash, room.data(), room.size());
    return got && !got->ended;
  }
  void wait_for_end() {
    char byte;
    while (hear(&byte, 1)) {
    }
  }
  const sys::unique_fd& control() const { return control_; }

 private:
  bool hear(void* into, std::size_t bytes) {
    return ::recv(control_.get(), into, bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes);
  }
  sys::unique_fd control_;
};

link_options impatient() {
  link_options options;
  options.ready_timeout = 300ms;
  options.answer_timeout = 300ms;
  options.gone_timeout = 100ms;
  return options;
}

class double_init {
 public:
  using script = std::function<void(player&)>;
  explicit double_init(script play, link_options options = impatient()) {
    auto ends = sys::open_socket_pair(SOCK_STREAM).value();
    link = std::make_unique<init_link>(context, std::move(ends.first), std::move(options));
    thread_ = std::thread([play = std::move(play), end = std::move(ends.second)]() mutable {
      player actor(std::move(end));
      play(actor);
      actor.wait_for_end();
    });
  }
  ~double_init() {
    link.reset();
    context.restart();
    context.run_for(150ms);
    thread_.join();
  }

  asio::io_context context;
  async::strand strand{context.get_executor()};
  std::unique_ptr<init_link> link;

 private:
  std::thread thread_;
};

async::task<result<pid_t>> start_true(init_link& link, async::strand strand, std::unique_ptr<leash>& rope) {
  auto opening = link.open_leash(strand);
  auto opened = co_await std::move(opening);
  if (!opened) co_return fail(opened.error());
  rope = std::move(*opened);
  spawn_request request;
  request.argv = {"true"};
  request.cwd = "/";
  for (auto* fd : {&request.stdin_fd, &request.stdout_fd, &request.stderr_fd})
    fd->reset(::open("/dev/null", O_RDWR | O_CLOEXEC));
  auto spawning = rope->spawn(std::move(request));
  co_return co_await std::move(spawning);
}

// Plays an honest init up to a heard spawn, then `act`. Checks that the sandbox is declared dead for it.
void check_dies(const std::function<void(player&, const sys::unique_fd& leash)>& act) {
  double_init init([act](player& actor) {
    actor.hear_setup();
    actor.say_ready();
    const auto leash = actor.hear_anchor();
    if (!leash || !player::hear_spawn(leash)) return;
    act(actor, leash);
    actor.wait_for_end();
  });
  REQUIRE(wait_for(init.context, init.link->ready()));
  std::unique_ptr<leash> rope;
  const auto started =
      wait_for(init.context, async::on(asio::any_io_executor(init.strand), start_true(*init.link, init.strand, rope)));
  wait_for(init.context, init.link->wait_dead());
  CHECK_FALSE(init.link->alive());
  CHECK_FALSE(init.link->dead_because().empty());
  if (!started) CHECK(started.error().kind == error_kind::sandbox_lost);
  REQUIRE(rope);
  const auto end = wait_for(init.context, async::on(asio::any_io_executor(init.strand), rope->wait_exited()));
  wait_for(init.context, async::on(asio::any_io_executor(init.strand), rope->wait_closed()));
  (void)end;
}

void check_never_ready(const double_init::script& play) {
  double_init init(play);
  const auto ready = wait_for(init.context, init.link->ready());
  REQUIRE_FALSE(ready);
  CHECK(ready.error().kind == error_kind::sandbox_unavailable);
  CHECK_FALSE(init.link->alive());
}

wire::exited plain_end() {
  wire::exited end{};
  end.closed = 1;
  return end;
}

}  // namespace

TEST_CASE("init link: an init that is not ready in time, or ends first, is none") {
  check_never_ready([](player& actor) { actor.hear_setup(); });
  double_init gone([](player& actor) { ::shutdown(actor.control().get(), SHUT_RDWR); });
  CHECK_FALSE(wait_for(gone.context, gone.link->ready()));
}

TEST_CASE("init link: what is no `ready` is not taken for one") {
  check_never_ready([](player& actor) {
    wire::ready body{};
    body.version = wire::version + 1;
    player::say(actor.control(), wire::message::ready, body);
  });
  check_never_ready([](player& actor) { player::say_raw(actor.control(), std::string(100'000, 'x')); });
  check_never_ready([](player& actor) { player::say(actor.control(), wire::message::listed, wire::listed{}); });
  check_never_ready([](player& actor) { player::say(actor.control(), wire::message::started, wire::started{5}); });
  check_never_ready([](player& actor) {
    wire::header endless{wire::message::ready, 0xfffffff0u, 0, 0};
    player::say_raw(actor.control(), std::string(reinterpret_cast<const char*>(&endless), sizeof endless));
  });
}

TEST_CASE("init link: a descriptor that is no devpts is refused and closed") {
  const int before = open_descriptors();
  check_never_ready([](player& actor) {
    wire::ready body{};
    body.version = wire::version;
    const sys::unique_fd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    player::say(actor.control(), wire::message::ready, body, {root});
  });
  CHECK(open_descriptors() == before);
}

TEST_CASE("init link: a spawn that is not answered in time ends the sandbox") {
  check_dies([](player&, const sys::unique_fd&) {});
}

TEST_CASE("init link: what is said out of turn on a leash ends the sandbox") {
  check_dies([](player&, const sys::unique_fd& leash) { player::say(leash, wire::message::exited, plain_end()); });
  check_dies([](player&, const sys::unique_fd& leash) { player::say(leash, wire::message::closed); });
  check_dies([](player&, const sys::unique_fd& leash) { player::say(leash, wire::message::state, wire::state{0}); });
  check_dies([](player&, const sys::unique_fd& leash) { player::say(leash, wire::message::ready, wire::ready{}); });
  check_dies(
      [](player&, const sys::unique_fd& leash) { player::say(leash, wire::message::started, wire::started{0}); });
  check_dies(
      [](player&, const sys::unique_fd& leash) { player::say(leash, wire::message::started, wire::started{-1}); });
  check_dies([](player&, const sys::unique_fd& leash) {
    const wire::started body{7};
    player::say_raw(leash, make_message(wire::message::started, 77, &body, sizeof body));
  });
  check_dies([](player&, const sys::unique_fd& leash) {
    player::say(leash, wire::message::started, wire::started{7});
    player::say(leash, wire::message::started, wire::started{8});
  });
  check_dies([](player&, const sys::unique_fd& leash) {
    player::say(leash, wire::message::started, wire::started{7});
    player::say(leash, wire::message::spawn_failed, wire::spawn_failed{wire::stage::exec, wire::reason::other, 1});
  });
  check_dies([](player&, const sys::unique_fd& leash) {
    player::say(leash, wire::message::spawn_failed,
                wire::spawn_failed{static_cast<wire::stage>(99), wire::reason::other, 1});
  });
  check_dies([](player&, const sys::unique_fd& leash) {
    player::say(leash, wire::message::started, wire::started{7});
    wire::exited stopped = plain_end();
    stopped.wait_status = 0x137f;  // stopped, not ended
    player::say(leash, wire::message::exited, stopped);
  });
  check_dies([](player&, const sys::unique_fd& leash) {
    player::say(leash, wire::message::started, wire::started{7});
    player::say_raw(leash, "short");
    player::say_raw(leash, std::string(1000, '\xff'));
  });
}

TEST_CASE("init link: repetition is a flood and ends the sandbox") {
  check_dies([](player&, const sys::unique_fd& leash) {
    player::say(leash, wire::message::started, wire::started{7});
    player::say(leash, wire::message::exited, plain_end());
    for (int i = 0; i < 1000; ++i) player::say(leash, wire::message::closed);
  });
  check_dies([](player& actor, const sys::unique_fd&) {
    while (player::say_raw(actor.control(),
                           make_message(wire::message::listed, 0, "12345678", 8, std::string(30'000, 'x')))) {
    }
  });
}

TEST_CASE("init link: descriptors on a leash end the sandbox and stay closed") {
  const int before = open_descriptors();
  check_dies([](player&, const sys::unique_fd& leash) {
    const sys::unique_fd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    player::say(leash, wire::message::started, wire::started{7}, {root, root, root});
  });
  CHECK(open_descriptors() == before);
}

TEST_CASE("init link: letting go of a leash whose command has not ended ends the sandbox") {
  check_dies([](player&, const sys::unique_fd& leash) {
    player::say(leash, wire::message::started, wire::started{7});
    ::shutdown(leash.get(), SHUT_RDWR);
  });
}

TEST_CASE("init link: a question that is not answered in time ends the sandbox") {
  double_init init([](player& actor) {
    actor.hear_setup();
    actor.say_ready();
  });
  REQUIRE(wait_for(init.context, init.link->ready()));
  const auto listed = wait_for(init.context, init.link->processes());
  REQUIRE_FALSE(listed);
  CHECK(listed.error().kind == error_kind::sandbox_lost);
  CHECK_FALSE(init.link->alive());
}

TEST_CASE("init link: a tree that is not empty in time after its end was ordered ends the sandbox") {
  auto options = impatient();
  options.end_timeout = 100ms;
  double_init init(
      [](player& actor) {
        actor.hear_setup();
        actor.say_ready();
        const auto leash = actor.hear_anchor();
        if (!player::hear_spawn(leash)) return;
        player::say(leash, wire::message::started, wire::started{7});
        actor.wait_for_end();
      },
      options);
  REQUIRE(wait_for(init.context, init.link->ready()));
  std::unique_ptr<leash> rope;
  const asio::any_io_executor there(init.strand);
  REQUIRE(wait_for(init.context, async::on(there, start_true(*init.link, init.strand, rope))));
  wait_for(init.context, async::on(there, [](leash& to) -> async::task<bool> {
             to.end();
             co_return true;
           }(*rope)));
  wait_for(init.context, async::on(there, rope->wait_closed()));
  CHECK(init.link->dead_because().find("could not be ended") != std::string::npos);
  CHECK(wait_for(init.context, async::on(there, rope->wait_exited())).lost);
}

TEST_CASE("init link: at most 64 spawns are unanswered, further ones wait their turn") {
  std::atomic<int> heard = 0;
  std::atomic<bool> answer = false;
  auto options = impatient();
  options.answer_timeout = 10s;
  double_init init(
      [&](player& actor) {
        actor.hear_setup();
        actor.say_ready();
        std::vector<sys::unique_fd> leashes;
        std::vector<bool> answered;
        const auto limit = std::chrono::steady_clock::now() + 10s;
        while (heard < 100 && std::chrono::steady_clock::now() < limit) {
          pollfd more{actor.control().get(), POLLIN, 0};
          while (::poll(&more, 1, 0) > 0) {
            auto leash = actor.hear_anchor();
            if (!leash) return;
            leashes.push_back(std::move(leash));
            answered.push_back(false);
          }
          for (std::size_t i = 0; i < leashes.size(); ++i)
            if (!answered[i] && player::hear_spawn(leashes[i], 0)) {
              ++heard;
              answered[i] = true;
            }
          if (!answer) continue;
          for (std::size_t i = 0; i < leashes.size(); ++i)
            if (answered[i] && leashes[i]) {
              const wire::started started{static_cast<std::int32_t>(i) + 1};
              player::say(leashes[i], wire::message::started, started);
              player::say(leashes[i], wire::message::exited, plain_end());
              leashes[i].reset();
            }
          ::usleep(1000);
        }
        for (auto& leash : leashes)
          if (leash) {
            player::say(leash, wire::message::started, wire::started{1});
            player::say(leash, wire::message::exited, plain_end());
          }
        actor.wait_for_end();
      },
      options);
  REQUIRE(wait_for(init.context, init.link->ready()));
  async::task_group group(init.strand);
  int done = 0;
  const auto one = [](double_init& in, int& done_) -> async::task<void> {
    std::unique_ptr<leash> rope;
    auto starting = start_true(*in.link, in.strand, rope);
    const auto started = co_await std::move(starting);
    CHECK(started);
    ++done_;
  };
  for (int i = 0; i < 100; ++i) group.spawn("a command", one(init, done));
  init.context.restart();
  init.context.run_for(300ms);
  CHECK(heard == 64);
  CHECK(done == 0);
  answer = true;
  wait_for(init.context, group.join());
  CHECK(done == 100);
}
