// Talking to systemd, where it started the daemon; elsewhere these do nothing.
#pragma once

#include <vector>

#include "daemon/sys/error.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::app {

// The listening sockets handed over by LISTEN_FDS, CLOEXEC; the variables are removed. Usually none or one.
result<std::vector<sys::unique_fd>> take_listen_fds();

void notify_ready();
void notify_reloading();
void notify_stopping();

}  // namespace sbx::app
