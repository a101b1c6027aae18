// Why a sandbox could not be started, in words a person can act on. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "daemon/sandbox/spec.hpp"
#include "daemon/sys/error.hpp"

namespace sbx::sandbox {

enum class retry { useless, worthwhile };

// sandbox_unavailable {backend, cause, remedy, retryable}.
error unavailable(backend_kind backend, std::string cause, std::string remedy, retry again = retry::useless);

// A text that a program is known to fail with, and what to do about it. All the parts must be there.
struct known_failure {
  std::string_view part, other_part;
  std::string_view remedy;
  retry again = retry::useless;
};

// The first of `known` that fits what the program said last on its stderr; what it said is the cause.
error explain(backend_kind backend, std::string_view said, std::span<const known_failure> known,
              std::string_view otherwise);

// What bwrap said before it gave up, or what exec said of it.
error explain_bwrap(std::string_view said);
error explain_bwrap_missing(const std::string& path, int number);

// Fit for a message: valid lines without control characters or blanks at the ends, the last ones kept.
std::string tidy(std::string_view said, std::size_t bytes_max = 4096);

}  // namespace sbx::sandbox
