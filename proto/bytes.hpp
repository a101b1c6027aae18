// Bytes in JSON: UTF-8 checking, base64, and where a text may be cut.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sbx::proto {

bool is_utf8(std::string_view bytes);

// Invalid sequences become U+FFFD (one for each maximal broken part).
std::string replace_invalid_utf8(std::string_view bytes);

// How many bytes at the end (0 to 3) begin a character that could still become valid with more bytes. A reader of a
// stream that goes on leaves them for the next read; invalid bytes are not held back.
std::size_t incomplete_tail(std::string_view bytes);

std::string base64_encode(std::string_view bytes);
void base64_append(std::string& out, std::string_view bytes);

// The standard alphabet with padding, nothing else (no line breaks); nullopt otherwise.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace sbx::proto
