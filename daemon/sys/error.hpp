// What can go wrong, as a value. Everything beneath daemon/api fails with an sbx::error; api turns it into the wire's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <variant>
#include <vector>

namespace sbx {

// The kinds of the wire contract (API section 1) that domain code can meet. JSON-RPC's own kinds live in proto.
enum class error_kind {
  io,  // any system error without a kind of its own
  invalid_params,
  denied,
  not_found,
  no_such_handle,
  limit,
  edit_mismatch,
  sandbox_unavailable,
  sandbox_lost,
  spawn_failed,
  conflict,
  not_a_file,
  too_large,
  shutting_down,
  unsupported,
  root_gone,
  cancelled,
  internal,
};

// A further field of the wire's error.data, e.g. {"count", 3}.
using error_detail = std::variant<bool, std::int64_t, std::string, std::vector<std::int64_t>>;

// Declares constructors so that it is no aggregate (g++ 12 miscompiles aggregate temporaries in co_await expressions).
struct error {
  error() = default;
  error(error_kind kind_, std::string message_) : kind(kind_), message(std::move(message_)) {}

  // A failed system call: `doing` is a gerund ("opening"), `subject` what it was done to. ENOENT is not_found, else io.
  static error system(int number, std::string_view doing, std::string_view subject = {});

  error&& with(std::string name, error_detail value) && {
    details.emplace_back(std::move(name), std::move(value));
    return std::move(*this);
  }

  error_kind kind = error_kind::internal;
  int number = 0;       // errno, or 0
  std::string message;  // one plain sentence
  std::vector<std::pair<std::string, error_detail>> details;
};

template <class T>
using result = tl::expected<T, error>;

inline tl::unexpected<error> fail(error_kind kind, std::string message) {
  return tl::unexpected<error>(error(kind, std::move(message)));
}
inline tl::unexpected<error> fail(error e) {
  return tl::unexpected<error>(std::move(e));
}
inline tl::unexpected<error> fail_system(int number, std::string_view doing, std::string_view subject = {}) {
  return tl::unexpected<error>(error::system(number, doing, subject));
}

}  // namespace sbx
