// Giving a command its input.
#pragma once

#include <string>

#include "daemon/async/task.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::process {

// Writes all of `data` to the non-blocking pipe as there is room, then closes it. Ends early when nobody reads any
// more.
async::task<void> feed_pipe(async::strand strand, sys::unique_fd to, std::string data);

}  // namespace sbx::process
