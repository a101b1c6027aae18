#include "daemon/sandbox/leash_socket.hpp"

#include <sys/wait.h>

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <cstring>

#include "daemon/async/run.hpp"
#include "daemon/sys/message_socket.hpp"

namespace sbx::sandbox {

namespace wire = sys::init_wire;
namespace asio = async::asio;

namespace {

constexpr int ignored_max = 64;
constexpr std::uint32_t spawn_serial = 0;  // there is one only; what is told of its command carries it too
constexpr std::size_t orders_waiting_max = 256;

error lost_error() {
  return error(error_kind::sandbox_lost, "the sandbox ended before the command had started").with("retryable", true);
}

std::string_view name_of(wire::stage stage) {
  switch (stage) {
    case wire::stage::cwd:
      return "cwd";
    case wire::stage::exec:
      return "exec";
    case wire::stage::stdin_:
      return "stdin";
    case wire::stage::pty:
      return "pty";
    case wire::stage::fork:
      break;
  }
  return "fork";
}

std::string_view name_of(wire::reason reason) {
  switch (reason) {
    case wire::reason::not_found:
      return "not_found";
    case wire::reason::not_executable:
      return "not_executable";
    case wire::reason::bad_interpreter:
      return "bad_interpreter";
    case wire::reason::bad_format:
      return "bad_format";
    case wire::reason::bad_cwd:
    case wire::reason::cwd_outside:
      return "bad_cwd";
    case wire::reason::too_big:
      return "too_big";
    case wire::reason::other:
    case wire::reason::resources:
      break;
  }
  return "resources";
}

std::string_view sentence_of(wire::reason reason) {
  switch (reason) {
    case wire::reason::not_found:
      return "the program was not found";
    case wire::reason::not_executable:
      return "the program is not executable";
    case wire::reason::bad_interpreter:
      return "the program's interpreter was not found";
    case wire::reason::bad_format:
      return "the program is not in a format that can be executed";
    case wire::reason::bad_cwd:
    case wire::reason::cwd_outside:
      return "the working directory cannot be entered";
    case wire::reason::too_big:
      return "the arguments and environment are too big";
    case wire::reason::other:
    case wire::reason::resources:
      break;
  }
  return "the system lacks the resources to start the command";
}

error failure_error(const wire::spawn_failed& failure) {
  if (failure.reason == wire::reason::cwd_outside)
    return error(error_kind::denied, "cwd lies outside the workspace")
        .with("reason", std::string("outside the workspace"));
  error e(error_kind::spawn_failed, std::string(sentence_of(failure.reason)));
  e.number = failure.error;
  const char* number = ::strerrorname_np(failure.error);
  return std::move(e)
      .with("stage", std::string(name_of(failure.stage)))
      .with("errno", std::string(number ? number : "UNKNOWN"))
      .with("reason", std::string(name_of(failure.reason)));
}

bool is_end(int wait_status) {
  return WIFEXITED(wait_status) || WIFSIGNALED(wait_status);
}

wire::spawn_failed no_room(int error) {
  return {wire::stage::fork, wire::reason::resources, error};
}

void append_string(std::string& out, const std::string& text) {
  out.append(text).push_back('\0');
}

std::string spawn_text(const spawn_request& request) {
  std::string out;
  append_string(out, request.cwd);
  append_string(out, request.search_path);
  for (const auto& root : request.cwd_roots) append_string(out, root);
  for (const auto& argument : request.argv) append_string(out, argument);
  for (const auto& entry : request.env) append_string(out, entry);
  return out;
}

}  // namespace

leash_socket::leash_socket(async::strand strand, sys::unique_fd socket, leash_host host)
    : strand_(strand),
      socket_(strand, socket.release()),
      host_(std::move(host)),
      deadline_(strand),
      end_deadline_(strand),
      tasks_(strand),
      sender_(socket_, tasks_) {}

void leash_socket::begin() {
  tasks_.spawn("a leash", [](std::shared_ptr<leash_socket> self) -> async::task<void> {
    auto serving = self->serve();
    co_await std::move(serving);
  }(shared_from_this()));
}

// Until end-of-file: by then no process holds the inner end. What has not been told then is lost with the sandbox, once
// nothing of that is left.
async::task<void> leash_socket::serve() {
  auto reading = read_all();
  co_await std::move(reading);
  empty_ = true;
  end_deadline_.cancel();
  if (!lost_ && !closed_.is_set() && !told_failure()) {
    if (!host_.has_ended()) host_.give_up("it let go of a command that had not ended");
    auto going = host_.wait_gone();
    co_await std::move(going);
  }
  lose();
}

async::task<void> leash_socket::read_all() {
  const sys::fd_ref socket(socket_.native_handle());
  for (;;) {
    boost::system::error_code failed;
    co_await socket_.async_wait(asio::posix::descriptor_base::wait_read,
                                asio::redirect_error(asio::use_awaitable, failed));
    if (failed) break;
    const auto state = reader_.fill(socket);
    while (auto message = reader_.next())
      if (!take(*message)) co_return broken("it spoke out of turn");
    if (reader_.broken() || !reader_.fds().empty()) co_return broken("it sent a malformed message");
    if (state == message_reader::state::ended) break;
  }
}

void leash_socket::broken(std::string reason) {
  host_.give_up(std::move(reason));
}

bool leash_socket::told_failure() const {
  return spawn_answer_ && !*spawn_answer_;
}

void leash_socket::set_closed() {
  empty_ = true;
  end_deadline_.cancel();
  closed_.set();
}

// An anchor that was killed in the midst of telling is told again by init. More than that is a flood.
bool leash_socket::repeated() {
  return ++repeats_ < 4;
}

void leash_socket::lose() {
  if (lost_) return;
  lost_ = true;
  shut();
  if (!end_) {
    end_.emplace();
    end_->lost = true;
  }
  deadline_.cancel();
  answer_spawn(fail(lost_error()));
  exited_.set();
  closed_.set();
  for (auto& [serial, waiting] : questions_) waiting->answered.set();
  questions_.clear();
}

void leash_socket::abandon() {
  end();
  lose();
  if (host_.owner_gone) host_.owner_gone();
}

void leash_socket::end() {
  shut();
  if (told_end_ || !host_.end_timeout || closed_.is_set() || !socket_.is_open()) return;
  told_end_ = true;
  end_deadline_.expires_after(*host_.end_timeout);
  end_deadline_.async_wait([self = weak_from_this()](boost::system::error_code failed) {
    const auto leash = failed ? nullptr : self.lock();
    if (leash && !leash->empty_) leash->broken("a command's processes could not be ended");
  });
}

void leash_socket::shut() {
  if (socket_.is_open()) sys::shutdown_sending(sys::fd_ref(socket_.native_handle()));
}

void leash_socket::answer_spawn(result<pid_t> answer) {
  if (spawn_answer_) return;
  spawn_answer_.emplace(std::move(answer));
  deadline_.cancel();
  spawn_answered_.set();
}

bool leash_socket::take(const incoming_message& message) {
  if (lost_) return ++ignored_ < ignored_max;  // nobody waits for it any more
  if (message.head.type != wire::message::state && message.head.serial != spawn_serial) return false;
  switch (message.head.type) {
    case wire::message::started:
      return take_started(message);
    case wire::message::spawn_failed:
      return take_failure(message);
    case wire::message::exited:
      return take_exited(message);
    case wire::message::closed:
      if (!end_ || !message.body.empty()) return false;
      if (closed_.is_set()) return repeated();
      set_closed();
      return true;
    case wire::message::state:
      return take_state(message);
    default:
      return false;
  }
}

bool leash_socket::take_started(const incoming_message& message) {
  const auto body = message.front<wire::started>();
  if (!spawned_ || !body || message.body.size() != sizeof *body || body->pid <= 0 || told_failure()) return false;
  if (leader_ != 0) return body->pid == leader_ && repeated();
  leader_ = body->pid;
  answer_spawn(leader_);
  return true;
}

// May come before any spawn: then there was no room for its anchor.
bool leash_socket::take_failure(const incoming_message& message) {
  const auto body = message.front<wire::spawn_failed>();
  if (!body || message.body.size() != sizeof *body || leader_ != 0 || body->stage < wire::stage::fork ||
      body->stage > wire::stage::pty || body->reason > wire::reason::resources || body->error < 0)
    return false;
  if (told_failure()) return repeated();
  answer_spawn(fail(failure_error(*body)));
  return true;
}

bool leash_socket::take_exited(const incoming_message& message) {
  const auto body = message.front<wire::exited>();
  if (leader_ == 0 || !body || message.body.size() != sizeof *body || !is_end(body->wait_status) || body->closed > 1)
    return false;
  if (end_ && !repeated()) return false;
  if (!end_) {
    end_.emplace();
    end_->wait_status = body->wait_status;
    end_->user_ms = std::max<std::int64_t>(0, body->user_us / 1000);
    end_->system_ms = std::max<std::int64_t>(0, body->system_us / 1000);
    end_->max_rss_bytes = std::clamp<std::int64_t>(body->max_rss_kib, 0, std::int64_t{1} << 40) * 1024;
    exited_.set();
  }
  if (body->closed == 1) set_closed();
  return true;
}

bool leash_socket::take_state(const incoming_message& message) {
  const auto body = message.front<wire::state>();
  const auto found = questions_.find(message.head.serial);
  if (!body || found == questions_.end() || body->count > wire::members_max ||
      message.body.size() != sizeof *body + body->count * sizeof(std::int32_t))
    return false;
  for (std::uint32_t i = 0; i < body->count; ++i) {
    std::int32_t pid = 0;
    std::memcpy(&pid, message.body.data() + sizeof *body + i * sizeof pid, sizeof pid);
    found->second->pids.push_back(pid);
  }
  found->second->answered.set();
  questions_.erase(found);
  return true;
}

// One packet: all of it goes, or nothing.
async::task<result<void>> leash_socket::send(std::string text, std::vector<sys::unique_fd> fds) {
  const sys::fd_ref socket(socket_.native_handle());
  const std::vector<sys::fd_ref> lent(fds.begin(), fds.end());
  for (;;) {
    if (lost_ || host_.has_ended()) co_return fail(lost_error());
    auto sent = sys::send_now(socket, text, lent);
    if (!sent && sent.error().number == ETOOMANYREFS) co_return fail(failure_error(no_room(ETOOMANYREFS)));
    if (!sent) co_return fail(lost_error());
    if (*sent > 0) co_return result<void>();
    boost::system::error_code failed;
    co_await socket_.async_wait(asio::posix::descriptor_base::wait_write,
                                asio::redirect_error(asio::use_awaitable, failed));
    if (failed) co_return fail(lost_error());
  }
}

// False when so many wait already that one more says nothing new.
bool leash_socket::send_small(wire::message type, std::uint32_t serial, const void* part, std::size_t bytes) {
  if (sender_.waiting() >= orders_waiting_max) return false;
  sender_.send(shared_from_this(), make_message(type, serial, part, bytes));
  return true;
}

async::task<result<pid_t>> leash_socket::spawn(spawn_request request) {
  auto entering = host_.enter_spawn();
  const bool placed = co_await std::move(entering);
  if (!placed || lost_) co_return fail(lost_error());
  struct place {
    explicit place(leash_host& host_) : host(host_) {}
    ~place() { host.leave_spawn(); }
    leash_host& host;
  } const held(host_);
  auto spawning = spawn_placed(std::move(request));
  co_return co_await std::move(spawning);
}

namespace {

struct spawn_packet {
  spawn_packet() = default;
  std::string bytes;
  std::vector<sys::unique_fd> fds;
};

result<spawn_packet> make_spawn_packet(spawn_request request) {
  spawn_packet packet;
  std::string text = spawn_text(request);
  wire::spawn head{};
  head.root_count = static_cast<std::uint32_t>(request.cwd_roots.size());
  head.argv_count = static_cast<std::uint32_t>(request.argv.size());
  head.env_count = static_cast<std::uint32_t>(request.env.size());
  head.flags = request.controlling_terminal ? wire::spawn_controlling_terminal : 0;
  head.text_bytes = static_cast<std::uint32_t>(text.size());
  if (text.size() > wire::spawn_bytes_max)
    return fail(failure_error({wire::stage::exec, wire::reason::too_big, E2BIG}));
  packet.fds.push_back(std::move(request.stdin_fd));
  packet.fds.push_back(std::move(request.stdout_fd));
  packet.fds.push_back(std::move(request.stderr_fd));
  for (auto& fd : request.extra_fds) packet.fds.push_back(std::move(fd));
  if (packet.fds.size() > wire::spawn_fds_max)
    return fail(error_kind::internal, "a command was given too many descriptors");
  if (sizeof(wire::header) + sizeof head + text.size() > wire::packet_bytes_max) {
    auto file = sys::make_memory_file("sbx-spawn", text);
    if (!file) return fail(failure_error(no_room(file.error().number)));
    packet.fds.push_back(std::move(*file));
    head.flags |= wire::spawn_text_in_file;
    text.clear();
  }
  packet.bytes = make_message(wire::message::spawn, spawn_serial, &head, sizeof head, text,
                              static_cast<std::uint32_t>(packet.fds.size()));
  return packet;
}

}  // namespace

async::task<result<pid_t>> leash_socket::spawn_placed(spawn_request request) {
  auto packet = make_spawn_packet(std::move(request));
  if (!packet) co_return fail(packet.error());
  if (spawn_answer_) co_return *spawn_answer_;  // there was no room for an anchor
  spawned_ = true;
  deadline_.expires_after(host_.answer_timeout);
  deadline_.async_wait([self = weak_from_this()](boost::system::error_code failed) {
    const auto leash = failed ? nullptr : self.lock();
    if (leash && !leash->spawn_answer_) leash->broken("it did not answer a spawn in time");
  });
  auto sending = send(std::move(packet->bytes), std::move(packet->fds));
  const auto sent = co_await std::move(sending);
  if (!sent && !spawn_answer_) co_return fail(sent.error());
  auto answered = spawn_answered_.wait();
  co_await std::move(answered);
  co_return *spawn_answer_;
}

async::task<leader_end> leash_socket::wait_exited() {
  auto waiting = exited_.wait();
  co_await std::move(waiting);
  co_return *end_;
}

async::task<void> leash_socket::wait_closed() {
  auto waiting = closed_.wait();
  co_await std::move(waiting);
}

async::task<std::vector<pid_t>> leash_socket::members() {
  if (lost_ || closed_.is_set() || leader_ == 0 || host_.has_ended()) co_return std::vector<pid_t>();
  auto asked = std::make_shared<question>();
  const std::uint32_t serial = next_serial_++;
  if (!send_small(wire::message::status, serial, nullptr, 0)) co_return std::vector<pid_t>();
  questions_.emplace(serial, asked);
  auto waiting = asked->answered.wait();
  auto limited = async::with_deadline(std::move(waiting), host_.answer_timeout);
  const bool in_time = co_await std::move(limited);
  if (!in_time) broken("it did not answer a question in time");
  co_return std::move(asked->pids);
}

int leash_socket::survivors_of(const std::vector<pid_t>& pids) const {
  int count = 0;
  for (const pid_t pid : pids) count += end_ || pid != leader_;
  return count;
}

void leash_socket::signal(int number, signal_target target) {
  if (lost_ || leader_ == 0 || closed_.is_set()) return;
  const wire::signal order{static_cast<std::uint32_t>(number),
                           target == signal_target::tree ? wire::target::tree : wire::target::leader};
  send_small(wire::message::signal, 0, &order, sizeof order);
}

}  // namespace sbx::sandbox
