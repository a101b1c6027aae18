// The daemon's end of a sandbox's control socket: what every backend builds its sandbox around. Everything init says is
// checked; what it says out of turn, or does not say in time, ends the sandbox.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/async/event.hpp"
#include "daemon/async/task.hpp"
#include "daemon/sandbox/factory.hpp"
#include "daemon/sandbox/leash.hpp"
#include "daemon/sandbox/sandbox.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::sandbox {

struct link_options {
  link_options() = default;
  process_defaults defaults;  // told to init at set-up
  bool with_defaults = true;  // false: commands keep the limits that init found (containers); the umask is told anyway
  std::chrono::milliseconds ready_timeout{10'000};
  std::chrono::milliseconds answer_timeout{10'000};  // a spawn or a question unanswered for so long is init's death
  // A tree that is not empty so long after leash::end() ends the whole sandbox. None: it does not (backend none, where
  // that would not help).
  std::optional<std::chrono::milliseconds> end_timeout{6'000};
  std::chrono::milliseconds gone_timeout{15'000};  // after the end, when confirm_gone() never comes
};

class init_link {
 public:
  // `control` is a connected Unix stream socket to an init that waits for set-up. Lives on a strand of its own.
  init_link(async::asio::io_context& context, sys::unique_fd control, link_options options);
  ~init_link();  // as end()
  init_link(const init_link&) = delete;
  init_link& operator=(const init_link&) = delete;

  // All of these may be called from any strand.

  // Once, first: sets init up and answers when it is ready. sandbox_unavailable without a backend's name: its caller
  // adds what it knows.
  async::task<result<void>> ready();

  // At most 64 spawns unanswered at once; further ones wait inside leash::spawn. sandbox_lost when it has ended.
  async::task<result<std::unique_ptr<leash>>> open_leash(async::strand strand);
  async::task<result<std::vector<process_info>>> processes();

  // /dev/pts of the sandbox (O_PATH, checked to be a devpts); none on the host. Valid while the link lives, after
  // ready().
  sys::fd_ref devpts() const;

  // Orders the end by end-of-file, of all leashes too. Repeatable.
  void end();
  // Nothing of the sandbox is left: only now commands whose end was not told are `lost`. Call it once that is known.
  void confirm_gone();

  bool alive() const;
  // The control socket has ended: init is gone or was given up. Its processes may take a moment more: backends wait for
  // their own outermost process.
  async::task<void> wait_dead();
  std::string dead_because() const;  // empty while it lives, or when it was ordered to end

  struct state;

 private:
  std::shared_ptr<state> state_;
};

}  // namespace sbx::sandbox
