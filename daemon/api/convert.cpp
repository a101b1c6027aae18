#include "daemon/api/convert.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <utility>

namespace sbx::api {

proto::exit_info to_wire(const process::exit_status& exit) {
  proto::exit_info out;
  out.outcome = static_cast<proto::outcome>(exit.outcome);
  static_assert(static_cast<int>(proto::outcome::lost) == static_cast<int>(process::outcome::lost));
  if (exit.code) out.code = *exit.code;
  out.signal = exit.signal;
  out.duration_ms = exit.duration_ms;
  if (exit.used) {
    proto::usage used;
    used.user_ms = exit.used->user_ms;
    used.system_ms = exit.used->system_ms;
    used.max_rss_bytes = exit.used->max_rss_bytes;
    out.usage = used;
  }
  return out;
}

proto::output_part to_wire(process::captured part, std::optional<proto::encoding> forced) {
  proto::output_part out;
  out.content = proto::payload(std::move(part.data), forced);
  out.total_bytes = part.total_bytes;
  out.dropped_bytes = part.dropped_bytes;
  out.dropped_at = part.dropped_at;
  return out;
}

proto::backend_name to_wire(sandbox::backend_kind kind) {
  switch (kind) {
    case sandbox::backend_kind::docker:
      return proto::backend_name::docker;
    case sandbox::backend_kind::podman:
      return proto::backend_name::podman;
    case sandbox::backend_kind::none:
      return proto::backend_name::none;
    case sandbox::backend_kind::bwrap:
      break;
  }
  return proto::backend_name::bwrap;
}

proto::network_choice to_wire(const sandbox::network_spec& network) {
  proto::network_choice out;
  using mode = enum sandbox::network_spec::mode;
  using form = proto::network_choice::form;
  switch (network.mode) {
    case mode::none:
      out.mode = form::none;
      break;
    case mode::host:
      out.mode = form::host;
      break;
    case mode::bridge:
      out.mode = form::bridge;
      break;
    case mode::named:
      out.mode = form::named;
      out.name = network.name;
      break;
  }
  return out;
}

proto::limits_entry to_wire(const sandbox::limits_spec& limits) {
  proto::limits_entry out;
  out.memory_bytes = limits.memory_bytes;
  out.pids = limits.pids;
  out.tmp_bytes = limits.tmp_bytes;
  out.cpus = limits.cpus;
  return out;
}

std::string time_text_ns(std::int64_t ns) {
  std::int64_t seconds = ns / 1'000'000'000, rest = ns % 1'000'000'000;
  if (rest < 0) {
    rest += 1'000'000'000;
    --seconds;
  }
  const std::time_t when = seconds;
  std::tm parts{};
  if (::gmtime_r(&when, &parts) == nullptr || parts.tm_year + 1900 > 9999 || parts.tm_year + 1900 < 0)
    return "9999-12-31T23:59:59.999Z";  // beyond what RFC 3339 can say
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900, parts.tm_mon + 1,
                parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, static_cast<int>(rest / 1'000'000));
  return text;
}

std::string time_text(std::chrono::system_clock::time_point when) {
  return time_text_ns(std::chrono::duration_cast<std::chrono::nanoseconds>(when.time_since_epoch()).count());
}

sandbox::signal_target to_target(proto::signal_target target) {
  return target == proto::signal_target::leader ? sandbox::signal_target::leader : sandbox::signal_target::tree;
}

result<int> to_signal(const std::string& name) {
  if (const auto number = process::signal_number(name)) return *number;
  return fail(wrong_param("/signal", "There is no such signal."));
}

std::chrono::milliseconds to_ms(std::int64_t count) {
  return std::chrono::milliseconds(std::clamp<std::int64_t>(count, 0, 315'360'000'000));
}

std::optional<std::chrono::milliseconds> to_ms(const std::optional<std::int64_t>& count) {
  if (!count) return std::nullopt;
  return to_ms(*count);
}

error wrong_param(std::string pointer, std::string message) {
  return error(error_kind::invalid_params, std::move(message)).with("path", std::move(pointer));
}

}  // namespace sbx::api
