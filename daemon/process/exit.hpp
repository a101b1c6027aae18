// How a process ended, as a value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/sandbox/leash.hpp"

namespace sbx::process {

enum class outcome { exited, signaled, timed_out, cancelled, stopped, oom_killed, lost };

struct usage {
  usage() = default;
  std::int64_t user_ms = 0, system_ms = 0, max_rss_bytes = 0;
};

struct exit_status {
  exit_status() = default;
  process::outcome outcome = outcome::exited;
  std::optional<int> code;            // 0–255, 128+n after signal n; none when lost
  std::optional<std::string> signal;  // "SIGKILL", "SIGRTMIN+3"
  std::int64_t duration_ms = 0;
  std::optional<process::usage> used;  // none when lost
};

// "SIGTERM", "SIGRTMIN+3"; nullopt for what is no signal.
std::optional<int> signal_number(const std::string& name);
std::string signal_name(int number);

// What the leader's end came to, but for outcomes that only its owner knows (timed_out, cancelled, stopped,
// oom_killed).
exit_status exit_of(const sandbox::leader_end& end, std::int64_t duration_ms);

}  // namespace sbx::process
