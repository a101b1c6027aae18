// What a backend knows of the init it started, apart from what init says: how to end it, and when it is gone.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/async/task.hpp"
#include "daemon/sys/error.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::sandbox {

class init_body {
 public:
  virtual ~init_body() = default;

  // Ends init and with it all that runs inside, whatever they do. May be called again.
  virtual void kill() = 0;
  // Answers when nothing of the sandbox is left; does not end it. Any number of waiters.
  virtual async::task<void> wait_gone() = 0;
  // Answers early when the backend sees that init cannot go on (it ended, its container is paused).
  virtual async::task<void> wait_failed() = 0;
  // Why it failed, as far as the backend was told; may be empty.
  virtual std::string last_words() const = 0;

  virtual bool took_oom_kill() { return false; }
  virtual std::optional<pid_t> host_pid() const { return std::nullopt; }
  virtual std::optional<std::string> container() const { return std::nullopt; }
};

// How commands inside see themselves.
struct inside_view {
  inside_view() = default;
  std::string home, user_name;
  std::vector<std::string> base_env;
};

// The two ends of a control socket: ours does not block, init's does.
struct control_pair {
  control_pair() = default;
  sys::unique_fd ours, inits;
};
result<control_pair> make_control_pair();

}  // namespace sbx::sandbox
