// The methods and notifications of the contract as values: what schema, documentation and completion walk over.
#pragma once

#include <string_view>
#include <vector>

#include "proto/error.hpp"
#include "proto/fields.hpp"

namespace sbx::proto {

struct method_entry {
  method_entry() = default;
  std::string_view name, summary;
  const shape* params = nullptr;
  const shape* result = nullptr;
  bool ordered = false;
};

struct notification_entry {
  notification_entry() = default;
  std::string_view name, summary;
  const shape* params = nullptr;
};

const std::vector<method_entry>& method_catalog();
const std::vector<notification_entry>& notification_catalog();
const method_entry& authorize_entry();  // the daemon's own request

// Kinds that a method can answer with besides JSON-RPC's own and cancelled, shutting_down and denied by policy.
std::vector<error_kind> errors_of(std::string_view method);

// One plain sentence on a kind.
std::string_view meaning_of(error_kind kind);

}  // namespace sbx::proto
