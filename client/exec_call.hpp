// exec.run as sbxctl does it: descriptors handed over or pumped, signals passed on, until the answer is there.
#pragma once

#include "client/app.hpp"
#include "client/stdio.hpp"
#include "proto/methods/exec.hpp"

namespace sbx::client {

// Answers the exit code.
int run_command(app& a, connection& link, proto::exec_run_params params, stdin_use use);

}  // namespace sbx::client
