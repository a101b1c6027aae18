#include <array>
#include <cstdint>

#include "proto/bytes.hpp"

namespace sbx::proto {
namespace {

constexpr char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// Twelve bits at a time: two characters for each value.
constexpr auto pairs = [] {
  std::array<std::array<char, 2>, 4096> table{};
  for (unsigned n = 0; n < 4096; ++n) table[n] = {alphabet[n >> 6], alphabet[n & 63]};
  return table;
}();

constexpr std::uint8_t no_digit = 0xFF;
constexpr auto digits = [] {
  std::array<std::uint8_t, 256> table{};
  table.fill(no_digit);
  for (std::uint8_t n = 0; n < 64; ++n) table[static_cast<unsigned char>(alphabet[n])] = n;
  return table;
}();

void put_pair(char* out, std::uint32_t twelve_bits) {
  out[0] = pairs[twelve_bits][0];
  out[1] = pairs[twelve_bits][1];
}

}  // namespace

void base64_append(std::string& out, std::string_view bytes) {
  const std::size_t start = out.size();
  out.resize(start + (bytes.size() + 2) / 3 * 4);
  char* to = out.data() + start;
  const auto* from = reinterpret_cast<const unsigned char*>(bytes.data());
  std::size_t left = bytes.size();
  for (; left >= 3; left -= 3, from += 3, to += 4) {
    const std::uint32_t three = std::uint32_t{from[0]} << 16 | std::uint32_t{from[1]} << 8 | from[2];
    put_pair(to, three >> 12);
    put_pair(to + 2, three & 0xFFF);
  }
  if (left == 0) return;
  const std::uint32_t rest = std::uint32_t{from[0]} << 16 | (left == 2 ? std::uint32_t{from[1]} << 8 : 0);
  put_pair(to, rest >> 12);
  put_pair(to + 2, rest & 0xFFF);
  to[3] = '=';
  if (left == 1) to[2] = '=';
}

std::string base64_encode(std::string_view bytes) {
  std::string out;
  base64_append(out, bytes);
  return out;
}

std::optional<std::string> base64_decode(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  std::string out(text.size() / 4 * 3, '\0');
  char* to = out.data();
  const auto digit = [&](std::size_t n) { return digits[static_cast<unsigned char>(text[n])]; };
  const std::size_t whole = padding == 0 ? text.size() : text.size() - 4;
  for (std::size_t n = 0; n < whole; n += 4, to += 3) {
    const std::uint8_t a = digit(n), b = digit(n + 1), c = digit(n + 2), d = digit(n + 3);
    if ((a | b | c | d) & 0xC0) return std::nullopt;
    to[0] = static_cast<char>(a << 2 | b >> 4);
    to[1] = static_cast<char>(b << 4 | c >> 2);
    to[2] = static_cast<char>(c << 6 | d);
  }
  if (padding == 0) return out;
  const std::uint8_t a = digit(whole), b = digit(whole + 1), c = padding == 1 ? digit(whole + 2) : std::uint8_t{0};
  if ((a | b | c) & 0xC0) return std::nullopt;
  if ((padding == 2 ? b & 0x0F : c & 0x03) != 0) return std::nullopt;  // bits that no encoder sets
  to[0] = static_cast<char>(a << 2 | b >> 4);
  if (padding == 1) to[1] = static_cast<char>(b << 4 | c >> 2);
  out.resize(out.size() - padding);
  return out;
}

}  // namespace sbx::proto
