#include "proto/bytes.hpp"

#include <cstdint>
#include <cstring>

#include "proto/utf8.hpp"

namespace sbx::proto {
namespace {

// What may follow a lead byte: how many bytes, and the range of the first of them (Unicode 15, table 3-7).
struct lead {
  int following = -1;
  unsigned char low = 0x80, high = 0xBF;
};

lead classify(unsigned char byte) {
  if (byte < 0x80) return {0};
  if (byte >= 0xC2 && byte <= 0xDF) return {1};
  if (byte == 0xE0) return {2, 0xA0, 0xBF};
  if (byte == 0xED) return {2, 0x80, 0x9F};
  if (byte >= 0xE1 && byte <= 0xEF) return {2};
  if (byte == 0xF0) return {3, 0x90, 0xBF};
  if (byte >= 0xF1 && byte <= 0xF3) return {3};
  if (byte == 0xF4) return {3, 0x80, 0x8F};
  return {};
}

}  // namespace

utf8_step step_utf8(std::string_view bytes) {
  const auto at = [&](std::size_t n) { return static_cast<unsigned char>(bytes[n]); };
  lead first = classify(at(0));
  if (first.following < 0) return {utf8_verdict::invalid, 1};
  const auto wanted = static_cast<std::size_t>(first.following) + 1;
  for (std::size_t n = 1; n < wanted; ++n) {
    if (n == bytes.size()) return {utf8_verdict::incomplete, n};
    if (at(n) < first.low || at(n) > first.high) return {utf8_verdict::invalid, n};
    first.low = 0x80;
    first.high = 0xBF;
  }
  return {utf8_verdict::valid, wanted};
}

std::size_t ascii_prefix(std::string_view bytes) {
  std::size_t n = 0;
  for (; n + 8 <= bytes.size(); n += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + n, 8);
    if (word & 0x8080808080808080ULL) break;
  }
  while (n < bytes.size() && static_cast<unsigned char>(bytes[n]) < 0x80) ++n;
  return n;
}

bool is_utf8(std::string_view bytes) {
  while (true) {
    bytes.remove_prefix(ascii_prefix(bytes));
    if (bytes.empty()) return true;
    const utf8_step step = step_utf8(bytes);
    if (step.verdict != utf8_verdict::valid) return false;
    bytes.remove_prefix(step.bytes);
  }
}

std::string replace_invalid_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t plain = ascii_prefix(bytes);
    out.append(bytes.substr(0, plain));
    bytes.remove_prefix(plain);
    if (bytes.empty()) break;
    const utf8_step step = step_utf8(bytes);
    if (step.verdict == utf8_verdict::valid)
      out.append(bytes.substr(0, step.bytes));
    else
      out.append("\xEF\xBF\xBD");
    bytes.remove_prefix(step.bytes);
  }
  return out;
}

std::size_t incomplete_tail(std::string_view bytes) {
  for (std::size_t back = 1; back <= 3 && back <= bytes.size(); ++back) {
    const auto byte = static_cast<unsigned char>(bytes[bytes.size() - back]);
    if ((byte & 0xC0) == 0x80) continue;
    return step_utf8(bytes.substr(bytes.size() - back)).verdict == utf8_verdict::incomplete ? back : 0;
  }
  return 0;
}

}  // namespace sbx::proto
