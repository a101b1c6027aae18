// How an operation is run: what the caller grants it besides its request.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>

#include "daemon/async/stop_flag.hpp"
#include "daemon/sys/error.hpp"

namespace sbx::fs {

struct call {
  call() = default;

  // Long operations look at it often and end with error_kind::cancelled. Default: never.
  async::stop_flag stop;
  // Of the user that started the daemon (the daemon's own is 077). For files and directories that come to be.
  mode_t umask = 022;
  // True on the reactor thread: only what can't block for long is done (a local root, no mount crossed, at most 64
  // KiB). Anything else fails with an error for which would_block() is true, with nothing done: run it again in the
  // pool.
  bool on_reactor = false;
  // Files larger than this are not edited (too_large).
  std::int64_t edit_bytes_max = std::int64_t{1} << 30;
  // Told now and then by copy and move across mounts: bytes done, bytes in all (as far as known).
  std::function<void(std::int64_t done, std::int64_t total)> progress;
};

bool would_block(const error& e);

}  // namespace sbx::fs
