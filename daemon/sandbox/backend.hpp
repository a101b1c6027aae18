// A way to build sandboxes. One object a backend, made by app, asked by workspace.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/async/task.hpp"
#include "daemon/sandbox/sandbox.hpp"
#include "daemon/sandbox/spec.hpp"

namespace sbx::sandbox {

struct availability {
  availability() = default;
  bool available = false;
  std::string cause, remedy, version;
};

// Told as a slow start goes on (an image pull): phase, message, done and total in bytes or layers where known.
using progress_fn = std::function<void(std::string phase, std::string message, std::optional<std::int64_t> done,
                                       std::optional<std::int64_t> total)>;

class backend {
 public:
  virtual ~backend() = default;
  virtual backend_kind kind() const = 0;

  // Probed now (cheaply, cached for some seconds where it runs programs).
  virtual async::task<availability> probe() = 0;

  // Refuses at workspace.open what this backend cannot do: unsupported {feature, remedy}, invalid_params.
  virtual result<void> accepts(const spec& wanted) const = 0;

  // Builds one and waits for init's own `ready`. Failure: sandbox_unavailable {backend, cause, remedy, retryable} or
  // unsupported; nothing of it is left then. Cancellation (terminal) likewise.
  virtual async::task<result<std::shared_ptr<sandbox>>> launch(spec wanted, progress_fn progress) = 0;

  // At the daemon's start: removes what an earlier daemon of this user and socket left behind.
  virtual async::task<void> sweep() = 0;
};

}  // namespace sbx::sandbox
