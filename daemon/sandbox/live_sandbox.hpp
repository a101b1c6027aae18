// A running sandbox: init's end of the talk (init_link) and what the backend knows of init (init_body), joined.
#pragma once

#include <memory>

#include "daemon/async/task_group.hpp"
#include "daemon/sandbox/init_body.hpp"
#include "daemon/sandbox/init_link.hpp"
#include "daemon/sandbox/sandbox.hpp"

namespace sbx::sandbox {

struct start_request {
  start_request() = default;
  backend_kind backend = backend_kind::bwrap;
  sys::unique_fd control;
  std::shared_ptr<init_body> body;
  inside_view view;
  link_options link;
  std::optional<uid_t> terminal_owner;  // of commands, where not the daemon's own
};

// Waits until init is ready and answers the sandbox. When init fails or ends first, or is late, everything of it is
// killed and awaited, and the failure carries what the backend was told (its last words) beside what init said. The
// same when the caller is cancelled, but for the awaiting. `tasks` watches the sandbox until it has ended, whoever
// holds it.
async::task<result<std::shared_ptr<sandbox>>> start_sandbox(async::asio::io_context& context, async::task_group& tasks,
                                                            start_request request);

}  // namespace sbx::sandbox
