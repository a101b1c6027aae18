#include "client/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "proto/bytes.hpp"

namespace sbx::client {
namespace {

struct split_number {
  double number = 0;
  std::string_view unit;
};

std::optional<split_number> split(std::string_view text) {
  split_number made;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), made.number, std::chars_format::fixed);
  if (error != std::errc() || made.number < 0 || !std::isfinite(made.number)) return std::nullopt;
  made.unit = text.substr(static_cast<std::size_t>(end - text.data()));
  return made;
}

std::optional<std::int64_t> scaled(double number, double factor) {
  const double value = std::round(number * factor);
  if (value > 9e15) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

std::string one_decimal(double number) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f", number);
  return text;
}

// How many columns a text takes, near enough: one a character.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

std::optional<std::int64_t> parse_duration(std::string_view text) {
  const auto parts = split(text);
  if (!parts) return std::nullopt;
  if (parts->unit == "ms") return scaled(parts->number, 1);
  if (parts->unit.empty() || parts->unit == "s") return scaled(parts->number, 1000);
  if (parts->unit == "m" || parts->unit == "min") return scaled(parts->number, 60'000);
  if (parts->unit == "h") return scaled(parts->number, 3'600'000);
  if (parts->unit == "d") return scaled(parts->number, 86'400'000);
  return std::nullopt;
}

std::optional<std::int64_t> parse_size(std::string_view text) {
  auto parts = split(text);
  if (!parts) return std::nullopt;
  std::string_view unit = parts->unit;
  if (unit.size() > 1 && unit.ends_with("iB")) unit.remove_suffix(2);
  if (unit.ends_with("B")) unit.remove_suffix(1);
  if (unit.empty()) return scaled(parts->number, 1);
  constexpr std::string_view letters = "kmgt";
  const char letter = unit.size() == 1 ? static_cast<char>(unit[0] | 0x20) : '\0';
  const auto power = letters.find(letter);
  if (power == std::string_view::npos) return std::nullopt;
  return scaled(parts->number, std::pow(1024.0, static_cast<double>(power) + 1));
}

std::string format_duration(std::int64_t ms) {
  if (ms < 1000) return std::to_string(ms) + " ms";
  if (ms < 60'000) return one_decimal(static_cast<double>(ms) / 1000) + " s";
  const std::int64_t s = ms / 1000;
  if (s < 3600) return std::to_string(s / 60) + " min " + std::to_string(s % 60) + " s";
  if (s < 86400) return std::to_string(s / 3600) + " h " + std::to_string(s / 60 % 60) + " min";
  return std::to_string(s / 86400) + " d " + std::to_string(s / 3600 % 24) + " h";
}

std::string format_size(std::int64_t bytes) {
  constexpr std::array<const char*, 5> units = {" B", " KiB", " MiB", " GiB", " TiB"};
  auto number = static_cast<double>(bytes);
  std::size_t n = 0;
  for (; number >= 1024 && n + 1 < units.size(); ++n) number /= 1024;
  return (n == 0 ? std::to_string(bytes) : one_decimal(number)) + units[n];
}

std::string printable(std::string_view text) {
  constexpr char hex[] = "0123456789abcdef";
  std::string out;
  const std::string valid = proto::replace_invalid_utf8(text);
  for (std::size_t n = 0; n < valid.size(); ++n) {
    const auto byte = static_cast<unsigned char>(valid[n]);
    // C1 controls are two bytes, 0xC2 0x80 to 0xC2 0x9F.
    const bool second_half = byte == 0xC2 && n + 1 < valid.size() && static_cast<unsigned char>(valid[n + 1]) < 0xA0;
    if (byte >= 0x20 && byte != 0x7F && !second_half) {
      out += valid[n];
      continue;
    }
    const auto shown = second_half ? static_cast<unsigned char>(valid[++n]) : byte;
    out += "\\x";
    out += hex[shown >> 4];
    out += hex[shown & 0xF];
  }
  return out;
}

std::string shell_quote(std::string_view word) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,";
  if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos) return std::string(word);
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out + "'";
}

std::string table::render(bool colour) const {
  if (rows.empty()) return {};
  std::vector<std::size_t> widths;
  for (const auto& head : heads) widths.push_back(width_of(head));
  for (const auto& row : rows)
    for (std::size_t n = 0; n < row.size() && n < widths.size(); ++n) widths[n] = std::max(widths[n], width_of(row[n]));
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string out;
    for (std::size_t n = 0; n < cells.size(); ++n) {
      out += cells[n];
      if (n + 1 < cells.size()) out.append(widths[n] + 2 - width_of(cells[n]), ' ');
    }
    while (!out.empty() && out.back() == ' ') out.pop_back();
    return out + "\n";
  };
  std::string head = line(heads);
  if (colour) head = "\033[1m" + head.substr(0, head.size() - 1) + "\033[0m\n";
  for (const auto& row : rows) head += line(row);
  return head;
}

}  // namespace sbx::client
