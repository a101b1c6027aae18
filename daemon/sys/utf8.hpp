// UTF-8 as the contract treats it: valid or not, and where whole characters end. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sbx::sys {

struct utf8_check {
  std::size_t valid_bytes = 0;      // length of the longest valid prefix of whole characters
  std::size_t incomplete_tail = 0;  // 1–3 when the rest is exactly the beginning of one valid character, else 0

  // Valid, but for a character that is cut at the end.
  bool is_text(std::size_t size) const { return valid_bytes + incomplete_tail == size; }
};

// Surrogates, overlong forms and what lies above U+10FFFF are invalid.
utf8_check check_utf8(std::string_view bytes) noexcept;

inline bool is_valid_utf8(std::string_view bytes) noexcept {
  return check_utf8(bytes).valid_bytes == bytes.size();
}

// Each invalid sequence becomes U+FFFD.
std::string to_valid_utf8(std::string_view bytes);

// Length of the character at the beginning of `bytes`: 1–4; 1 for a byte that begins none; 0 for "".
std::size_t character_length(std::string_view bytes) noexcept;

}  // namespace sbx::sys
