#include "daemon/sandbox/helper_body.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "daemon/sandbox/unavailable.hpp"

namespace sbx::sandbox {

namespace asio = async::asio;

helper_body::helper_body(asio::io_context& context, std::shared_ptr<helper> program, std::shared_ptr<pipe_reader> said)
    : context_(context), program_(std::move(program)), said_(std::move(said)) {}

helper_body::~helper_body() {
  helper_body::kill();
}

void helper_body::set_init(pid_t pid) {
  sys::unique_fd opened(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!opened || program_->has_ended()) return;  // bwrap reaps it before it ends: until then the number is its own
  init_ = std::move(opened);
  init_pid_ = pid;
}

void helper_body::kill() {
  if (init_) sys::send_signal(init_, SIGKILL);
  program_->kill();
}

async::task<void> helper_body::wait_gone() {
  auto program = program_;
  asio::posix::stream_descriptor init(context_);
  if (init_) init.assign(::fcntl(init_.get(), F_DUPFD_CLOEXEC, 0));
  co_await program->wait_ended();
  if (!init.is_open()) co_return;
  // A killed bwrap leaves its child to die on its own, soon after.
  boost::system::error_code ignored;
  co_await init.async_wait(asio::posix::stream_descriptor::wait_read,
                           asio::redirect_error(asio::use_awaitable, ignored));
}

std::string helper_body::last_words() const {
  return tidy(said_->text());
}

std::optional<pid_t> helper_body::host_pid() const {
  if (init_pid_) return init_pid_;
  return program_->pid();
}

}  // namespace sbx::sandbox
