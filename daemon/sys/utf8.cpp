#include "daemon/sys/utf8.hpp"

#include <cstdint>
#include <cstring>

namespace sbx::sys {
namespace {

struct sequence {
  std::size_t have = 0;  // valid bytes seen, from the first
  std::size_t want = 0;  // of the whole character; 0: the first byte begins none
};

// RFC 3629, table of section 4: the second byte's range depends on the first.
sequence scan(std::string_view bytes) noexcept {
  const auto at = [&](std::size_t index) { return static_cast<unsigned char>(bytes[index]); };
  const unsigned char first = at(0);
  if (first < 0x80) return {1, 1};
  std::size_t want = 0;
  unsigned char low = 0x80, high = 0xbf;
  if (first >= 0xc2 && first <= 0xdf) want = 2;
  if (first >= 0xe0 && first <= 0xef) want = 3;
  if (first >= 0xf0 && first <= 0xf4) want = 4;
  if (first == 0xe0) low = 0xa0;
  if (first == 0xed) high = 0x9f;
  if (first == 0xf0) low = 0x90;
  if (first == 0xf4) high = 0x8f;
  if (want == 0) return {1, 0};
  std::size_t have = 1;
  while (have < want && have < bytes.size() && at(have) >= low && at(have) <= high) {
    ++have;
    low = 0x80;
    high = 0xbf;
  }
  return {have, want};
}

std::size_t skip_ascii(std::string_view bytes, std::size_t position) noexcept {
  while (position + 8 <= bytes.size()) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + position, 8);
    if (word & 0x8080808080808080ULL) break;
    position += 8;
  }
  while (position < bytes.size() && static_cast<unsigned char>(bytes[position]) < 0x80) ++position;
  return position;
}

}  // namespace

utf8_check check_utf8(std::string_view bytes) noexcept {
  utf8_check check;
  std::size_t position = 0;
  for (;;) {
    position = skip_ascii(bytes, position);
    check.valid_bytes = position;
    if (position == bytes.size()) return check;
    const sequence found = scan(bytes.substr(position));
    if (found.want == 0 || found.have < found.want) {
      if (found.want != 0 && position + found.have == bytes.size()) check.incomplete_tail = found.have;
      return check;
    }
    position += found.want;
  }
}

std::string to_valid_utf8(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t valid = check_utf8(bytes).valid_bytes;
    text.append(bytes.substr(0, valid));
    bytes.remove_prefix(valid);
    if (bytes.empty()) break;
    text.append("\xef\xbf\xbd");
    bytes.remove_prefix(scan(bytes).have);
  }
  return text;
}

std::size_t character_length(std::string_view bytes) noexcept {
  if (bytes.empty()) return 0;
  const sequence found = scan(bytes);
  return found.want == found.have ? found.want : 1;
}

}  // namespace sbx::sys
