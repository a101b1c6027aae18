#include "daemon/process/exit.hpp"

#include <sys/wait.h>

#include <charconv>
#include <csignal>
#include <cstring>
#include <string_view>

namespace sbx::process {

namespace {

std::optional<int> realtime_number(std::string_view name) {
  constexpr std::string_view low = "SIGRTMIN", high = "SIGRTMAX";
  const bool from_low = name.starts_with(low), from_high = name.starts_with(high);
  if (!from_low && !from_high) return std::nullopt;
  name.remove_prefix(low.size());
  int offset = 0;
  if (!name.empty()) {
    if (name.front() != (from_low ? '+' : '-')) return std::nullopt;
    name.remove_prefix(1);
    const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), offset);
    if (wrong != std::errc() || end != name.data() + name.size() || offset < 0) return std::nullopt;
  }
  const int number = from_low ? SIGRTMIN + offset : SIGRTMAX - offset;
  if (number < SIGRTMIN || number > SIGRTMAX) return std::nullopt;
  return number;
}

}  // namespace

std::optional<int> signal_number(const std::string& name) {
  if (const auto realtime = realtime_number(name)) return realtime;
  if (!name.starts_with("SIG")) return std::nullopt;
  for (int number = 1; number < 32; ++number) {
    const char* known = ::sigabbrev_np(number);
    if (known != nullptr && name.compare(3, std::string::npos, known) == 0) return number;
  }
  return std::nullopt;
}

std::string signal_name(int number) {
  if (const char* known = ::sigabbrev_np(number)) return std::string("SIG") + known;
  if (number == SIGRTMIN) return "SIGRTMIN";
  if (number > SIGRTMIN && number <= SIGRTMAX) return "SIGRTMIN+" + std::to_string(number - SIGRTMIN);
  return "SIG" + std::to_string(number);
}

exit_status exit_of(const sandbox::leader_end& end, std::int64_t duration_ms) {
  exit_status out;
  out.duration_ms = duration_ms;
  if (end.lost) {
    out.outcome = outcome::lost;
    return out;
  }
  usage used;
  used.user_ms = end.user_ms;
  used.system_ms = end.system_ms;
  used.max_rss_bytes = end.max_rss_bytes;
  out.used = used;
  if (WIFSIGNALED(end.wait_status)) {
    out.outcome = outcome::signaled;
    out.code = 128 + WTERMSIG(end.wait_status);
    out.signal = signal_name(WTERMSIG(end.wait_status));
  } else {
    out.code = WEXITSTATUS(end.wait_status);
  }
  return out;
}

}  // namespace sbx::process
