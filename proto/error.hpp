// The wire's errors (API section 1): kinds, codes, and what an error object looks like.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "proto/fields.hpp"

namespace sbx::proto {

enum class error_kind {
  parse_error,
  invalid_request,
  method_not_found,
  invalid_params,
  internal,
  cancelled,
  denied,
  not_found,
  no_such_handle,
  limit,
  edit_mismatch,
  sandbox_unavailable,
  sandbox_lost,
  spawn_failed,
  conflict,
  io,
  not_a_file,
  too_large,
  shutting_down,
  unsupported,
  root_gone
};
template <>
struct words<error_kind> {
  static constexpr std::string_view list[] = {
      "parse_error",    "invalid_request", "method_not_found", "invalid_params",
      "internal",       "cancelled",       "denied",           "not_found",
      "no_such_handle", "limit",           "edit_mismatch",    "sandbox_unavailable",
      "sandbox_lost",   "spawn_failed",    "conflict",         "io",
      "not_a_file",     "too_large",       "shutting_down",    "unsupported",
      "root_gone"};
};

int code_of(error_kind kind);
std::optional<error_kind> kind_of_code(std::int64_t code);

// One member of error.data. Values are JSON texts; make them with the overloads below.
struct error_member {
  error_member() = default;
  error_member(std::string name_, std::string json_text_) : name(std::move(name_)), json_text(std::move(json_text_)) {}
  std::string name, json_text;
};

struct wire_error {
  wire_error() = default;
  wire_error(error_kind kind_, std::string message_) : kind(kind_), message(std::move(message_)) {}
  // invalid_params {path}.
  explicit wire_error(const fault& wrong);

  wire_error& with(std::string name, std::string_view text);
  wire_error& with(std::string name, const char* text) { return with(std::move(name), std::string_view(text)); }
  wire_error& with(std::string name, std::int64_t number);
  wire_error& with(std::string name, bool flag);
  wire_error& with(std::string name, const std::vector<std::int64_t>& numbers);

  // The error object's JSON text; valid UTF-8 whatever the strings hold.
  std::string render() const;

  // The named member's JSON text, or empty.
  std::string_view member(std::string_view name) const;
  // A string member's value, or nullopt.
  std::optional<std::string> text_member(std::string_view name) const;

  // Reads an error object as a client does. An unknown kind is taken from the code, else `internal`.
  static wire_error parse(const json& object);

  error_kind kind = error_kind::internal;
  std::string message;
  std::vector<error_member> data;
};

}  // namespace sbx::proto
