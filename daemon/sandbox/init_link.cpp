#include "daemon/sandbox/init_link.hpp"

#include <linux/magic.h>
#include <sys/socket.h>
#include <sys/vfs.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "daemon/async/run.hpp"
#include "daemon/async/task_group.hpp"
#include "daemon/sandbox/leash_socket.hpp"
#include "daemon/sandbox/message_reader.hpp"
#include "daemon/sandbox/message_sender.hpp"
#include "daemon/sys/init_wire.hpp"
#include "daemon/sys/message_socket.hpp"

namespace sbx::sandbox {

namespace wire = sys::init_wire;
namespace asio = async::asio;

namespace {

constexpr int spawns_unanswered_max = 64;
constexpr std::size_t spares_wanted = 2;  // one for the next command, one being made meanwhile
// Making another must not delay the command that took one: it is made after that has ended, or so much later.
constexpr auto spare_delay = std::chrono::milliseconds(3);

error lost_error() {
  return error(error_kind::sandbox_lost, "the sandbox ended before the command had started").with("retryable", true);
}

bool is_devpts(sys::fd_ref directory) {
  struct statfs info {};
  return ::fstatfs(directory.get(), &info) == 0 && info.f_type == DEVPTS_SUPER_MAGIC;
}

}  // namespace

// Lives on its strand; the atomics may be read anywhere.
struct init_link::state : std::enable_shared_from_this<init_link::state> {
  state(asio::io_context& context, sys::unique_fd control_fd, link_options wanted)
      : strand(asio::make_strand(context)),
        control(strand, control_fd.release()),
        options(std::move(wanted)),
        spare_timer(strand),
        tasks(strand),
        sender(control, tasks) {}

  async::task<result<void>> set_up();
  async::task<void> read_all();
  bool take(const incoming_message& message);
  bool take_ready(const incoming_message& message);
  bool take_listed(const incoming_message& message);
  result<sys::unique_fd> order_anchor();
  void order_spares();
  void order_spares_soon();
  async::task<result<std::unique_ptr<leash>>> open_leash(async::strand leash_strand);
  async::task<result<std::vector<process_info>>> processes();
  leash_host host_for_leash();
  async::task<bool> enter_spawn();
  void leave_spawn();
  void send(std::string bytes, std::vector<sys::unique_fd> fds = {});
  void die(std::string reason);
  void end();

  async::strand strand;
  asio::posix::stream_descriptor control;
  link_options options;
  message_reader reader;
  std::atomic<bool> dead = false;
  bool ordered = false, is_ready = false;
  std::string reason;
  sys::unique_fd pts;
  std::deque<sys::unique_fd> spares;  // leashes whose anchors wait already
  bool spares_due = false;            // the timer runs
  asio::steady_timer spare_timer;
  std::vector<std::weak_ptr<leash_socket>> leashes;
  std::uint32_t next_serial = 1;
  int spawns = 0;
  async::signal spawn_left;
  async::event ready_event, dead_event, gone_event;
  struct listing {
    listing() = default;
    async::event answered;
    std::vector<process_info> found;
    bool told = false;
  };
  std::map<std::uint32_t, std::shared_ptr<listing>> listings;  // asked for: one at most
  std::shared_ptr<listing> next_listing;
  std::shared_ptr<listing> ask_listing();
  async::task_group tasks;
  message_sender sender;
};

namespace {

// What a process owns: as long as it lives, so does its tree.
class owned_leash final : public leash {
 public:
  explicit owned_leash(std::shared_ptr<leash_socket> socket) : socket_(std::move(socket)) {}
  ~owned_leash() override {
    // The order to end, and nobody waits any more. What is left ends beneath the anchor; the reader sees its
    // end-of-file.
    asio::dispatch(socket_->strand(), [socket = socket_] { socket->abandon(); });
  }
  async::task<result<pid_t>> spawn(spawn_request request) override {
    auto pending = socket_->spawn(std::move(request));
    co_return co_await std::move(pending);
  }
  async::task<leader_end> wait_exited() override {
    auto pending = socket_->wait_exited();
    co_return co_await std::move(pending);
  }
  async::task<void> wait_closed() override {
    auto pending = socket_->wait_closed();
    co_await std::move(pending);
  }
  async::task<int> survivors() override {
    auto pending = socket_->members();
    const auto pids = co_await std::move(pending);
    co_return socket_->survivors_of(pids);
  }
  async::task<std::vector<pid_t>> members() override {
    auto pending = socket_->members();
    co_return co_await std::move(pending);
  }
  void signal(int number, signal_target target) override { socket_->signal(number, target); }
  void end() override { socket_->end(); }

 private:
  std::shared_ptr<leash_socket> socket_;
};

}  // namespace

void init_link::state::send(std::string bytes, std::vector<sys::unique_fd> fds) {
  if (!dead) sender.send(shared_from_this(), std::move(bytes), std::move(fds));
}

async::task<result<void>> init_link::state::set_up() {
  wire::setup setup{};
  setup.version = wire::version;
  setup.umask = options.defaults.umask;
  if (options.with_defaults) {
    for (const auto& [resource, limit] : options.defaults.rlimits) {
      if (setup.rlimit_count == wire::rlimit_count_max) break;
      setup.rlimits[setup.rlimit_count++] = {static_cast<std::uint32_t>(resource), 0, limit.rlim_cur, limit.rlim_max};
    }
  }
  send(make_message(wire::message::setup, next_serial++, &setup, sizeof setup));
  tasks.spawn("a control socket", [](std::shared_ptr<state> self) -> async::task<void> {
    auto reading = self->read_all();
    co_await std::move(reading);
  }(shared_from_this()));
  auto waiting = ready_event.wait();
  auto limited = async::with_deadline(std::move(waiting), options.ready_timeout);
  const bool in_time = co_await std::move(limited);
  if (!in_time) die("init was not ready in time");
  if (dead || !is_ready)
    co_return fail(error_kind::sandbox_unavailable, reason.empty() ? "init ended before it was ready" : reason);
  co_return result<void>();
}

async::task<void> init_link::state::read_all() {
  const sys::fd_ref socket(control.native_handle());
  for (;;) {
    boost::system::error_code failed;
    co_await control.async_wait(asio::posix::descriptor_base::wait_read,
                                asio::redirect_error(asio::use_awaitable, failed));
    if (failed) break;
    const auto found = reader.fill(socket);
    while (auto message = reader.next())
      if (!take(*message)) co_return die("init spoke out of turn");
    if (reader.broken()) co_return die("init sent a malformed message");
    if (found == message_reader::state::ended) break;
  }
  die("init ended");
}

bool init_link::state::take(const incoming_message& message) {
  switch (message.head.type) {
    case wire::message::ready:
      return take_ready(message);
    case wire::message::listed:
      return take_listed(message);
    default:
      return false;
  }
}

bool init_link::state::take_ready(const incoming_message& message) {
  const auto body = message.front<wire::ready>();
  if (is_ready || !body || message.body.size() != sizeof *body || body->version != wire::version) return false;
  if (reader.fds().size() != message.head.fds || message.head.fds > 1) return false;
  if (!reader.fds().empty()) {
    if (!is_devpts(reader.fds().front())) return false;
    pts = std::move(reader.fds().front());
    reader.fds().clear();
  }
  is_ready = true;
  order_spares();
  ready_event.set();
  return true;
}

// Strings each ended by NUL; the last may have been cut.
static std::vector<std::string> split_arguments(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\0'), text.size());
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

bool init_link::state::take_listed(const incoming_message& message) {
  const auto body = message.front<wire::listed>();
  const auto found = listings.find(message.head.serial);
  if (!body || found == listings.end() || body->count > wire::processes_max ||
      body->arguments_bytes > wire::all_arguments_bytes_max ||
      message.body.size() != sizeof *body + body->count * sizeof(wire::process) + body->arguments_bytes)
    return false;
  std::string_view arguments(message.body);
  arguments.remove_prefix(message.body.size() - body->arguments_bytes);
  for (std::uint32_t i = 0; i < body->count; ++i) {
    wire::process entry{};
    std::memcpy(&entry, message.body.data() + sizeof *body + i * sizeof entry, sizeof entry);
    process_info info;
    info.pid = entry.pid;
    info.ppid = entry.ppid;
    info.leader = entry.leader;
    info.state = entry.state >= 'A' && entry.state <= 'z' ? static_cast<char>(entry.state) : '?';
    info.rss_bytes = std::max<std::int64_t>(0, entry.rss_bytes);
    info.cpu_ms = std::max<std::int64_t>(0, entry.cpu_ms);
    if (entry.arguments_bytes > arguments.size()) return false;
    info.argv = split_arguments(arguments.substr(0, entry.arguments_bytes));
    arguments.remove_prefix(entry.arguments_bytes);
    found->second->found.push_back(std::move(info));
  }
  found->second->told = true;
  found->second->answered.set();
  listings.erase(found);
  if (next_listing) ask_listing();
  return true;
}

// Asks for an anchor and answers the outer end of its leash.
result<sys::unique_fd> init_link::state::order_anchor() {
  auto pair = sys::open_socket_pair(SOCK_SEQPACKET);
  if (!pair) return fail(pair.error());
  std::vector<sys::unique_fd> inner;
  inner.push_back(std::move(pair->second));
  send(make_message(wire::message::anchor, next_serial++, nullptr, 0, {}, 1), std::move(inner));
  return std::move(pair->first);
}

async::task<result<std::unique_ptr<leash>>> init_link::state::open_leash(async::strand leash_strand) {
  if (dead) co_return fail(lost_error());
  auto end = spares.empty() ? order_anchor() : result<sys::unique_fd>(std::move(spares.front()));
  if (!spares.empty()) spares.pop_front();
  if (!end) co_return fail(end.error());
  order_spares_soon();
  auto socket = std::make_shared<leash_socket>(leash_strand, std::move(*end), host_for_leash());
  std::erase_if(leashes, [](const auto& old) { return old.expired(); });
  leashes.push_back(socket);
  asio::dispatch(leash_strand, [socket] { socket->begin(); });
  co_return std::unique_ptr<leash>(std::make_unique<owned_leash>(std::move(socket)));
}

leash_host init_link::state::host_for_leash() {
  leash_host host;
  host.answer_timeout = options.answer_timeout;
  host.end_timeout = options.end_timeout;
  host.owner_gone = [self = shared_from_this()] { asio::dispatch(self->strand, [self] { self->order_spares(); }); };
  host.has_ended = [self = shared_from_this()] { return self->dead.load(); };
  host.wait_gone = [self = shared_from_this()] { return self->gone_event.wait(); };
  host.enter_spawn = [self = shared_from_this()]() -> async::task<bool> {
    return async::on(self->strand, self->enter_spawn());
  };
  host.leave_spawn = [self = shared_from_this()] { asio::dispatch(self->strand, [self] { self->leave_spawn(); }); };
  host.give_up = [weak = weak_from_this()](std::string why) {
    if (auto self = weak.lock())
      asio::dispatch(self->strand, [self, why] { self->die("init failed a command: " + why); });
  };
  return host;
}

async::task<bool> init_link::state::enter_spawn() {
  for (;;) {
    const auto seen = spawn_left.generation();
    if (dead) co_return false;
    if (spawns < spawns_unanswered_max) break;
    auto waiting = spawn_left.wait_past(seen);
    co_await std::move(waiting);
  }
  ++spawns;
  co_return true;
}

void init_link::state::leave_spawn() {
  --spawns;
  spawn_left.notify_all();
}

void init_link::state::order_spares() {
  while (!dead && spares.size() < spares_wanted) {
    auto next = order_anchor();
    if (!next) return;
    spares.push_back(std::move(*next));
  }
}

void init_link::state::order_spares_soon() {
  if (std::exchange(spares_due, true)) return;
  spare_timer.expires_after(spare_delay);
  spare_timer.async_wait([weak = weak_from_this()](boost::system::error_code failed) {
    const auto self = weak.lock();
    if (!self) return;
    self->spares_due = false;
    if (!failed) self->order_spares();
  });
}

// Those who ask while an answer is on its way share the one after it: init is never asked twice at once.
async::task<result<std::vector<process_info>>> init_link::state::processes() {
  if (dead) co_return fail(lost_error());
  auto wanted = listings.empty() ? ask_listing() : next_listing;
  if (!wanted) wanted = next_listing = std::make_shared<listing>();
  auto waiting = wanted->answered.wait();
  auto limited = async::with_deadline(std::move(waiting), 2 * options.answer_timeout);
  const bool in_time = co_await std::move(limited);
  if (!in_time) die("init did not answer a question in time");
  if (!wanted->told) co_return fail(lost_error());
  co_return wanted->found;
}

std::shared_ptr<init_link::state::listing> init_link::state::ask_listing() {
  auto asked = next_listing ? std::move(next_listing) : std::make_shared<listing>();
  next_listing.reset();
  const std::uint32_t serial = next_serial++;
  listings.emplace(serial, asked);
  send(make_message(wire::message::list, serial, nullptr, 0));
  return asked;
}

void init_link::state::die(std::string why) {
  if (dead) return;
  if (!ordered) reason = std::move(why);
  dead = true;
  sys::shutdown_sending(sys::fd_ref(control.native_handle()));
  boost::system::error_code ignored;
  control.cancel(ignored);
  spares.clear();
  spare_timer.cancel();
  for (auto& [serial, waiting] : listings) waiting->answered.set();
  listings.clear();
  if (next_listing) next_listing->answered.set();
  next_listing.reset();
  // Trees that outlive init (on the host) end by their own leashes; the readers see the end of all of them.
  for (auto& weak : leashes)
    if (auto leash = weak.lock()) asio::dispatch(leash->strand(), [leash] { leash->shut(); });
  leashes.clear();
  tasks.spawn("waiting for a sandbox to be gone", [](std::shared_ptr<state> self) -> async::task<void> {
    auto going = self->gone_event.wait();
    auto limited = async::with_deadline(std::move(going), self->options.gone_timeout);
    co_await std::move(limited);
    self->gone_event.set();
  }(shared_from_this()));
  spawn_left.notify_all();
  ready_event.set();
  dead_event.set();
}

void init_link::state::end() {
  ordered = true;
  // The order itself is the end-of-file; what init still says does not matter any more.
  die("");
}

init_link::init_link(asio::io_context& context, sys::unique_fd control, link_options options)
    : state_(std::make_shared<state>(context, std::move(control), std::move(options))) {}

init_link::~init_link() {
  end();
  confirm_gone();
}

void init_link::confirm_gone() {
  state_->gone_event.set();
}

async::task<result<void>> init_link::ready() {
  auto work = state_->set_up();
  return async::on(state_->strand, std::move(work));
}

async::task<result<std::unique_ptr<leash>>> init_link::open_leash(async::strand strand) {
  auto work = state_->open_leash(strand);
  return async::on(state_->strand, std::move(work));
}

async::task<result<std::vector<process_info>>> init_link::processes() {
  auto work = state_->processes();
  return async::on(state_->strand, std::move(work));
}

sys::fd_ref init_link::devpts() const {
  return state_->pts;
}

void init_link::end() {
  asio::dispatch(state_->strand, [state = state_] { state->end(); });
}

bool init_link::alive() const {
  return !state_->dead;
}

async::task<void> init_link::wait_dead() {
  auto waiting = state_->dead_event.wait();
  return waiting;
}

std::string init_link::dead_because() const {
  return state_->dead ? state_->reason : std::string();
}

}  // namespace sbx::sandbox
