// A terminal of the daemon on our own: raw, resized with it, left by ctrl-p ctrl-q, found again when the connection
// breaks.
#pragma once

#include "client/app.hpp"
#include "proto/methods/pty.hpp"

namespace sbx::client {

// Opens a terminal in our size, shows it to the end of its command, and closes it. Answers the exit code.
int run_on_terminal(app& a, connection& link, proto::pty_open_params params);

// Shows one that is there, from the oldest output kept. It stays when its command ends.
int attach_terminal(app& a, connection& link, const std::string& pty);

}  // namespace sbx::client
