#include "daemon/process/pty.hpp"

#include <fcntl.h>

#include <cerrno>
#include <csignal>

namespace sbx::process {

namespace {

error no_terminal(const error& because) {
  error e(error_kind::spawn_failed, because.message);
  e.number = because.number;
  const char* number = ::strerrorname_np(because.number);
  return std::move(e)
      .with("stage", std::string("pty"))
      .with("errno", std::string(number ? number : "UNKNOWN"))
      .with("reason", std::string("resources"));
}

result<sys::unique_fd> duplicate(sys::fd_ref fd) {
  sys::unique_fd made(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3));
  if (!made) return fail(no_terminal(error::system(errno, "duplicating a descriptor")));
  return made;
}

struct pty_wiring {
  pty_wiring() = default;
  start_request start;
  sys::unique_fd slave, typing;
  std::shared_ptr<output_log> log;
};

result<pty_wiring> wire(sandbox::sandbox& box, pty_request& request) {
  auto pair = box.open_terminal();
  if (!pair) return fail(no_terminal(pair.error()));
  if (auto sized = sys::set_screen_size(pair->master, request.size); !sized) return fail(no_terminal(sized.error()));
  ::fcntl(pair->master.get(), F_SETFL, O_RDWR | O_NONBLOCK);
  pty_wiring wires;
  wires.start.command = std::move(request.command);
  wires.start.controlling_terminal = true;
  for (auto* fd : {&wires.start.stdin_fd, &wires.start.stdout_fd, &wires.start.stderr_fd}) {
    auto made = duplicate(pair->slave);
    if (!made) return fail(made.error());
    *fd = std::move(*made);
  }
  auto typing = duplicate(pair->master);
  if (!typing) return fail(typing.error());
  wires.typing = std::move(*typing);
  wires.slave = std::move(pair->slave);
  wires.log = std::make_shared<output_log>(request.retain_bytes, retain_rule::tail);
  wires.start.outputs.emplace_back(std::move(pair->master), wires.log);
  return wires;
}

}  // namespace

pty::pty(std::shared_ptr<process_tree> process, std::shared_ptr<output_log> log, pty_request& request)
    : recording(std::move(process), std::move(log), nullptr, request.grace), size_(request.size) {}

async::task<result<std::shared_ptr<pty>>> pty::open(std::shared_ptr<sandbox::sandbox> box, async::strand strand,
                                                    pty_request request) {
  auto wires = wire(*box, request);
  if (!wires) co_return fail(wires.error());
  auto process = std::make_shared<process_tree>(std::move(box), strand);
  std::shared_ptr<pty> made(new pty(process, wires->log, request));
  made->slave_ = std::move(wires->slave);
  made->set_input(std::make_shared<process::input>(strand, std::move(wires->typing), input_kind::terminal));
  auto starting = process->start(std::move(wires->start));
  const auto begun = co_await std::move(starting);
  if (!begun) co_return fail(begun.error());
  made->begin();
  process->tasks().spawn("the end of a terminal", made->let_go());
  co_return made;
}

async::task<void> pty::let_go() {
  const auto self = shared_from_this();
  auto closing = process()->wait_closed();
  co_await std::move(closing);
  slave_.reset();
  get_input()->close();
}

result<void> pty::resize(sys::screen_size size) {
  size_ = size;
  if (!get_input()->is_open()) return {};
  return sys::set_screen_size(get_input()->fd(), size);
}

std::optional<int> pty::first_signal() const {
  return SIGHUP;
}

}  // namespace sbx::process
