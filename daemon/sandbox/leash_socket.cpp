#include "daemon/sandbox/leash_socket.hpp"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cerrno>
#include <cstring>

#include "daemon/sys/message_socket.hpp"

namespace sbx::sandbox {

namespace wire = sys::init_wire;
namespace asio = async::asio;

namespace {

error lost_error() {
  return error(error_kind::sandbox_lost, "the sandbox ended before the command had started").with("retryable", true);
}

std::string_view name_of(wire::stage stage) {
  switch (stage) {
    case wire::stage::cwd: return "cwd";
    case wire::stage::exec: return "exec";
    case wire::stage::stdin_: return "stdin";
    case wire::stage::pty: return "pty";
    case wire::stage::fork: break;
  }
  return "fork";
}

std::string_view name_of(wire::reason reason) {
  switch (reason) {
    case wire::reason::not_found: return "not_found";
    case wire::reason::not_executable: return "not_executable";
    case wire::reason::bad_interpreter: return "bad_interpreter";
    case wire::reason::bad_format: return "bad_format";
    case wire::reason::bad_cwd:
    case wire::reason::cwd_outside: return "bad_cwd";
    case wire::reason::too_big: return "too_big";
    case wire::reason::other:
    case wire::reason::resources: break;
  }
  return "resources";
}

std::string_view sentence_of(wire::reason reason) {
  switch (reason) {
    case wire::reason::not_found: return "the program was not found";
    case wire::reason::not_executable: return "the program is not executable";
    case wire::reason::bad_interpreter: return "the program's interpreter was not found";
    case wire::reason::bad_format: return "the program is not in a format that can be executed";
    case wire::reason::bad_cwd:
    case wire::reason::cwd_outside: return "the working directory cannot be entered";
    case wire::reason::too_big: return "the arguments and environment are too big";
    case wire::reason::other:
    case wire::reason::resources: break;
  }
  return "the system lacks the resources to start the command";
}

error failure_error(const wire::spawn_failed& failure) {
  if (failure.reason == wire::reason::cwd_outside)
    return error(error_kind::denied, "cwd lies outside the workspace").with("reason", std::string("outside the workspace"));
  error e(error_kind::spawn_failed, std::string(sentence_of(failure.reason)));
  e.number = failure.error;
  const char* number = ::strerrorname_np(failure.error);
  return std::move(e)
      .with("stage", std::string(name_of(failure.stage)))
      .with("errno", std::string(number ? number : "UNKNOWN"))
      .with("reason", std::string(name_of(failure.reason)));
}

void append_string(std::string& out, const std::string& text) { out.append(text).push_back('\0'); }

std::string spawn_text(const spawn_request& request) {
  std::string out;
  append_string(out, request.cwd);
  for (const auto& root : request.cwd_roots) append_string(out, root);
  for (const auto& argument : request.argv) append_string(out, argument);
  for (const auto& entry : request.env) append_string(out, entry);
  return out;
}

}  // namespace

leash_socket::leash_socket(async::strand strand, sys::unique_fd socket, leash_host host)
    : strand_(strand), socket_(strand, socket.release()), host_(std::move(host)), deadline_(strand), tasks_(strand) {}

void leash_socket::begin() {
  tasks_.spawn("a leash", [](std::shared_ptr<leash_socket> self) -> async::task<void> {
    auto reading = self->read_all();
    co_await std::move(reading);
  }(shared_from_this()));
}

async::task<void> leash_socket::read_all() {
  const sys::fd_ref socket(socket_.native_handle());
  for (;;) {
    boost::system::error_code failed;
    co_await socket_.async_wait(asio::posix::descriptor_base::wait_read, asio::redirect_error(asio::use_awaitable, failed));
    if (failed) break;
    const auto state = reader_.fill(socket);
    while (auto message = reader_.next())
      if (!take(*message)) co_return broken("it spoke out of turn");
    if (reader_.broken()) co_return broken("it sent a malformed message");
    if (state == message_reader::state::ended) break;
  }
  lose();
}

void leash_socket::broken(std::string reason) {
  if (!lost_) host_.give_up(std::move(reason));
  lose();
}

void leash_socket::lose() {
  if (lost_) return;
  lost_ = true;
  shut();
  if (!end_) {
    end_.emplace();
    end_->lost = true;
  }
  answer_spawn(fail(lost_error()));
  exited_.set();
  closed_.set();
  for (auto& [serial, waiting] : questions_) waiting->answered.set();
  questions_.clear();
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
  if (lost_) return true;
  switch (message.head.type) {
    case wire::message::started: return take_started(message);
    case wire::message::spawn_failed: return take_failure(message);
    case wire::message::exited: return take_exited(message);
    case wire::message::closed:
      if (!spawned_ || (leader_ != 0 && !end_) || message.head.bytes != 0) return false;
      closed_.set();
      return ++repeats_ < 4;
    case wire::message::state: return take_state(message);
    default: return false;
  }
}

bool leash_socket::take_started(const incoming_message& message) {
  const auto body = message.front<wire::started>();
  if (!spawned_ || spawn_answer_ || !body || message.body.size() != sizeof *body || body->pid <= 0) return false;
  leader_ = body->pid;
  answer_spawn(leader_);
  return true;
}

bool leash_socket::take_failure(const incoming_message& message) {
  const auto body = message.front<wire::spawn_failed>();
  if (!spawned_ || spawn_answer_ || !body || message.body.size() != sizeof *body) return false;
  answer_spawn(fail(failure_error(*body)));
  return true;
}

bool leash_socket::take_exited(const incoming_message& message) {
  const auto body = message.front<wire::exited>();
  if (!spawned_ || !body || message.body.size() != sizeof *body) return false;
  if (end_) return ++repeats_ < 4;  // an anchor killed in the midst of telling: init tells it again
  if (!spawn_answer_) answer_spawn(pid_t{0});  // it was killed before it could say that it had started
  leader_end end;
  end.wait_status = body->wait_status;
  end.user_ms = std::max<std::int64_t>(0, body->user_us / 1000);
  end.system_ms = std::max<std::int64_t>(0, body->system_us / 1000);
  end.max_rss_bytes = std::max<std::int64_t>(0, body->max_rss_kib) * 1024;
  end_ = end;
  exited_.set();
  return true;
}

bool leash_socket::take_state(const incoming_message& message) {
  const auto body = message.front<wire::state>();
  const auto found = questions_.find(message.head.serial);
  if (!body || found == questions_.end() || body->count > wire::processes_max ||
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

async::task<result<void>> leash_socket::send(std::string text, std::vector<sys::unique_fd> fds) {
  const sys::fd_ref socket(socket_.native_handle());
  std::vector<sys::fd_ref> lent(fds.begin(), fds.end());
  std::string_view left(text);
  while (!left.empty()) {
    if (lost_) co_return fail(lost_error());
    auto sent = sys::send_now(socket, left, lent);
    if (!sent) co_return fail(lost_error());
    if (*sent > 0) {
      left.remove_prefix(*sent);
      lent.clear();
      continue;
    }
    boost::system::error_code failed;
    co_await socket_.async_wait(asio::posix::descriptor_base::wait_write, asio::redirect_error(asio::use_awaitable, failed));
    if (failed) co_return fail(lost_error());
  }
  co_return result<void>();
}

void leash_socket::send_small(wire::message type, std::uint32_t serial, const void* part, std::size_t bytes) {
  const std::string text = make_message(type, serial, part, bytes);
  const auto sent = sys::send_now(sys::fd_ref(socket_.native_handle()), text);
  // A socket full of small orders is one that nobody reads.
  if (!sent || *sent != text.size()) broken("it does not read its orders");
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

async::task<result<pid_t>> leash_socket::spawn_placed(spawn_request request) {
  const std::string strings = spawn_text(request);
  wire::spawn head{static_cast<std::uint32_t>(request.cwd_roots.size()), static_cast<std::uint32_t>(request.argv.size()),
                   static_cast<std::uint32_t>(request.env.size()),
                   request.controlling_terminal ? wire::spawn_controlling_terminal : 0};
  if (strings.size() + sizeof head > wire::spawn_bytes_max) {
    const wire::spawn_failed too_big{wire::stage::exec, wire::reason::too_big, E2BIG};
    co_return fail(failure_error(too_big));
  }
  std::vector<sys::unique_fd> fds;
  fds.push_back(std::move(request.stdin_fd));
  fds.push_back(std::move(request.stdout_fd));
  fds.push_back(std::move(request.stderr_fd));
  for (auto& fd : request.extra_fds) fds.push_back(std::move(fd));
  std::string text = make_message(wire::message::spawn, next_serial_++, &head, sizeof head, strings,
                                  static_cast<std::uint32_t>(fds.size()));
  spawned_ = true;
  deadline_.expires_after(host_.answer_timeout);
  deadline_.async_wait([self = weak_from_this()](boost::system::error_code failed) {
    if (failed) return;
    if (auto leash = self.lock()) leash->broken("a spawn was not answered in time");
  });
  auto sending = send(std::move(text), std::move(fds));
  const auto sent = co_await std::move(sending);
  if (!sent) co_return fail(sent.error());
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
  if (lost_ || closed_.is_set() || !spawned_) co_return std::vector<pid_t>();
  auto asked = std::make_shared<question>();
  const std::uint32_t serial = next_serial_++;
  questions_.emplace(serial, asked);
  send_small(wire::message::status, serial, nullptr, 0);
  auto answered = asked->answered.wait();
  co_await std::move(answered);
  co_return std::move(asked->pids);
}

int leash_socket::survivors_of(const std::vector<pid_t>& pids) const {
  int count = 0;
  for (const pid_t pid : pids) count += end_ || pid != leader_;
  return count;
}

void leash_socket::signal(int number, signal_target target) {
  if (lost_ || !spawned_ || closed_.is_set()) return;
  const wire::signal order{static_cast<std::uint32_t>(number),
                           target == signal_target::tree ? wire::target::tree : wire::target::leader};
  send_small(wire::message::signal, 0, &order, sizeof order);
}

}  // namespace sbx::sandbox
