// Between the wire's types and the domain's, where both say the same thing.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "daemon/process/capture.hpp"
#include "daemon/process/exit.hpp"
#include "daemon/sandbox/leash.hpp"
#include "daemon/sandbox/spec.hpp"
#include "proto/methods/exec.hpp"
#include "proto/methods/workspace.hpp"

namespace sbx::api {

proto::exit_info to_wire(const process::exit_status& exit);
proto::output_part to_wire(process::captured part, std::optional<proto::encoding> forced);
proto::backend_name to_wire(sandbox::backend_kind kind);
proto::network_choice to_wire(const sandbox::network_spec& network);
proto::limits_entry to_wire(const sandbox::limits_spec& limits);

// RFC 3339 in UTC, to the millisecond.
std::string time_text(std::chrono::system_clock::time_point when);
std::string time_text_ns(std::int64_t ns_since_1970);

sandbox::signal_target to_target(proto::signal_target target);
// invalid_params at /signal for what is no signal.
result<int> to_signal(const std::string& name);

// Milliseconds that cannot overflow a clock.
std::chrono::milliseconds to_ms(std::int64_t count);
std::optional<std::chrono::milliseconds> to_ms(const std::optional<std::int64_t>& count);

// invalid_params that names its culprit.
error wrong_param(std::string pointer, std::string message);

}  // namespace sbx::api
