#include "client/signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

namespace sbx::client {

signal_reader::signal_reader(std::initializer_list<int> numbers) {
  sigset_t wanted;
  ::sigemptyset(&wanted);
  for (const int number : numbers) {
    struct sigaction now;
    const bool ignored = ::sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
    if (!ignored) ::sigaddset(&wanted, number);
  }
  ::sigprocmask(SIG_BLOCK, &wanted, &before_);
  fd_.reset(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
}

signal_reader::~signal_reader() {
  ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<int> signal_reader::next() {
  signalfd_siginfo info;
  if (::read(fd_.get(), &info, sizeof(info)) != sizeof(info)) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

}  // namespace sbx::client
