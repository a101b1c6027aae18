// JSON text to a document, with the depth known before anything recursive is built. For proto's own .cpp files.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "proto/types.hpp"

namespace sbx::proto {

enum class text_verdict { ok, malformed, too_deep };

// Whether arrays and objects nest more than `depth_max` levels, judged by brackets outside strings.
bool nests_deeper(std::string_view text, int depth_max);

// Never throws. `into` is set only when ok.
text_verdict parse_json(std::string_view text, int depth_max, json& into);

// What can be told of a text without building it: whether it is JSON at all, and the `id` of the object it is.
struct text_outline {
  text_outline() = default;
  bool well_formed = false;
  std::optional<request_id> id;
  std::size_t error_byte = 0;  // not well-formed: where
};
text_outline outline_json(std::string_view text);
text_outline outline_config(std::string_view text);  // comments ignored

}  // namespace sbx::proto
