// Words of people: durations, sizes, tables. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sbx::client {

// "90", "0.3", "500ms", "2m", "1h" → milliseconds.
std::optional<std::int64_t> parse_duration(std::string_view text);

// "4096", "64k", "512M", "2G" (powers of 1024; an "iB" or "B" after the letter is fine) → bytes.
std::optional<std::int64_t> parse_size(std::string_view text);

std::string format_duration(std::int64_t milliseconds);  // "350 ms", "2.1 s", "3 min 20 s", "2 h 5 min", "3 d 4 h"
std::string format_size(std::int64_t bytes);             // "512 B", "1.5 KiB"

// Control characters become visible, so that what a file is called cannot speak to the terminal.
std::string printable(std::string_view text);

// A word as a shell would need it.
std::string shell_quote(std::string_view word);

// Rows of cells under heads.
struct table {
  explicit table(std::vector<std::string> heads_) : heads(std::move(heads_)) {}
  void add(std::vector<std::string> row) { rows.push_back(std::move(row)); }
  // Columns two spaces apart; the heads bold in colour; nothing at all without rows.
  std::string render(bool colour) const;
  std::vector<std::string> heads;
  std::vector<std::vector<std::string>> rows;
};

}  // namespace sbx::client
