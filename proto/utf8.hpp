// One step through UTF-8, shared by everything here that looks at bytes.
#pragma once

#include <cstddef>
#include <string_view>

namespace sbx::proto {

enum class utf8_verdict { valid, invalid, incomplete };

struct utf8_step {
  utf8_verdict verdict;
  std::size_t bytes;  // of the character, of the maximal broken part, or of what is there of an incomplete one
};

// The character at the front of `bytes`, which is not empty.
utf8_step step_utf8(std::string_view bytes);

// Length of the longest prefix that is plain ASCII.
std::size_t ascii_prefix(std::string_view bytes);

}  // namespace sbx::proto
