// What a verb can end with: why it failed, in words and as an exit code.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "proto/error.hpp"

namespace sbx::client {

// Exit codes of sbxctl's own (a command's code passes as it is).
constexpr int exit_error = 1;  // the daemon refused
constexpr int exit_usage = 2;
constexpr int exit_timed_out = 124;
constexpr int exit_unavailable = 125;  // no daemon, no sandbox
constexpr int exit_not_executable = 126;
constexpr int exit_not_found = 127;

struct failure {
  failure() = default;
  failure(int exit_code_, std::string message_, std::string remedy_ = {})
      : exit_code(exit_code_), message(std::move(message_)), remedy(std::move(remedy_)) {}
  explicit failure(proto::wire_error error);

  int exit_code = exit_error;
  std::string message;  // one sentence
  std::string remedy;   // what would help, or empty
  std::optional<proto::wire_error> wire;
};

template <class T>
using outcome = tl::expected<T, failure>;

inline tl::unexpected<failure> fail(failure what) {
  return tl::unexpected<failure>(std::move(what));
}
inline tl::unexpected<failure> fail(int exit_code, std::string message, std::string remedy = {}) {
  return tl::unexpected<failure>(failure(exit_code, std::move(message), std::move(remedy)));
}

// "doing: what errno says".
failure system_failure(int number, std::string doing);

}  // namespace sbx::client
