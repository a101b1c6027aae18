// The whole daemon: builds every object, in order, and takes them down again.
#pragma once

#include "daemon/app/options.hpp"

namespace sbx::app {

// Runs until SIGTERM or SIGINT. Answers the exit code: 0 after an orderly end, 1 when it could not start.
int run(const options& wanted);

}  // namespace sbx::app
