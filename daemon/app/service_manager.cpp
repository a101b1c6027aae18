#include "daemon/app/service_manager.hpp"

#include <fcntl.h>
#include <systemd/sd-daemon.h>
#include <time.h>

#include <cerrno>
#include <string>

namespace sbx::app {

result<std::vector<sys::unique_fd>> take_listen_fds() {
  const int count = ::sd_listen_fds(1);
  if (count < 0) return fail_system(-count, "taking the sockets handed over");
  std::vector<sys::unique_fd> taken;
  for (int i = 0; i < count; ++i) taken.emplace_back(SD_LISTEN_FDS_START + i);
  for (const auto& fd : taken) {
    ::fcntl(fd.get(), F_SETFD, FD_CLOEXEC);
    if (::sd_is_socket_unix(fd.get(), SOCK_STREAM, 1, nullptr, 0) <= 0)
      return fail(error_kind::unsupported, "A descriptor handed over is no listening Unix stream socket.");
  }
  return taken;
}

void notify_ready() {
  ::sd_notify(0, "READY=1");
}

void notify_reloading() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const std::string stamp = std::to_string(now.tv_sec * 1'000'000 + now.tv_nsec / 1000);
  ::sd_notify(0, ("RELOADING=1\nMONOTONIC_USEC=" + stamp).c_str());
}

void notify_stopping() {
  ::sd_notify(0, "STOPPING=1");
}

}  // namespace sbx::app
