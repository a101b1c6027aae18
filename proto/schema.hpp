// What the descriptions say, for machines and people.
#pragma once

#include <string>

#include "proto/fields.hpp"

namespace sbx::proto {

// JSON Schema of a described type.
json schema_of(const shape& type);

// Calls use(context, v) with the members that a record describes; their targets hold the defaults meanwhile.
void visit_record(const shape& type, void* context, void (*use)(void* context, const visitor& v));

// The OpenRPC document of the whole contract, as text; made once.
const std::string& openrpc_text();

// docs/api.md.
std::string render_api_markdown();

}  // namespace sbx::proto
