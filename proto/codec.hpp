// Described structs to and from JSON. Pure; neither throws on any input but for want of memory.
#pragma once

#include <string>

#include "proto/fields.hpp"

namespace sbx::proto {

// Members that are not described: a server refuses them, a client skips what newer results have gained.
enum class unknown_members { refuse, skip };

// Fills *target; a fault names the first culprit by JSON pointer. Unknown members, wrong types, numbers out of range
// and NUL where a C string is needed are faults. Integers must be JSON integers (1.0 is none).
std::optional<fault> decode_value(const json& value, void* target, const shape& type,
                                  unknown_members unknown = unknown_members::refuse);

template <class T>
tl::expected<T, fault> decode(const json& value, unknown_members unknown = unknown_members::refuse) {
  T made;
  if (auto wrong = decode_value(value, &made, shape_of<T>::value, unknown))
    return tl::unexpected<fault>(std::move(*wrong));
  return made;
}

// The same from text: parsed with depth at most `depth_max` before anything recursive sees it. Not JSON: a fault at "".
std::optional<fault> decode_text_value(std::string_view text, void* target, const shape& type, int depth_max);

template <class T>
tl::expected<T, fault> decode_text(std::string_view text, int depth_max = 64) {
  T made;
  if (auto wrong = decode_text_value(text, &made, shape_of<T>::value, depth_max))
    return tl::unexpected<fault>(std::move(*wrong));
  return made;
}

// Appends the JSON text of *source; always valid UTF-8, whatever bytes it holds.
void encode_value(const void* source, const shape& type, std::string& out);

template <class T>
std::string encode_text(const T& value) {
  std::string out;
  encode_value(&value, shape_of<T>::value, out);
  return out;
}

// For callers that include nlohmann/json.hpp.
json encode_json_value(const void* source, const shape& type);
template <class T, class Json = json>  // a parameter only so that headers need not know the type
Json encode(const T& value) {
  return encode_json_value(&value, shape_of<T>::value);
}

// `name` as one step of a JSON pointer ('~' and '/' escaped).
std::string escape_pointer(std::string_view name);

// Appends `text` as a JSON string, quotes included; invalid UTF-8 becomes U+FFFD.
void append_json_string(std::string& out, std::string_view text);

// A configuration text: JSON in which // and /* */ comments are ignored. A fault's message says line and column.
tl::expected<void, fault> parse_config_text(std::string_view text, json& into);

// As decode_text, of a configuration text.
template <class T>
tl::expected<T, fault> decode_config_text(std::string_view text);
std::optional<fault> decode_config_value(std::string_view text, void* target, const shape& type);
template <class T>
tl::expected<T, fault> decode_config_text(std::string_view text) {
  T made;
  if (auto wrong = decode_config_value(text, &made, shape_of<T>::value))
    return tl::unexpected<fault>(std::move(*wrong));
  return made;
}

}  // namespace sbx::proto
