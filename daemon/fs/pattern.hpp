// Globs: * ? [] {a,b} ** and \ as escape. Pure; no file system here.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/sys/error.hpp"

namespace sbx::fs {

// One name pattern, between two slashes.
struct segment {
  segment() = default;
  enum class kind { literal, wildcard, any_depth } what = kind::literal;
  std::string text;  // literal: the name itself (unescaped); wildcard: the pattern
};

// Whether wildcards match a name that begins with a dot. A literal dot in the pattern always does.
enum class dot_names { matched, skipped };

bool matches_name(std::string_view wildcard, std::string_view name, dot_names dots);

// A path pattern with its braces expanded: alternatives of segments. Matching takes time bounded by
// segments × names × length, never exponential.
class pattern {
 public:
  pattern() = default;
  // invalid_params: empty, NUL, unclosed '[' is literal, ".." as a part; limit: more than 1,000 alternatives or 64 KiB.
  static result<pattern> compile(std::string_view text);

  bool matches(std::string_view relative_path, dot_names dots) const;

  const std::vector<std::vector<segment>>& alternatives() const { return alternatives_; }

 private:
  std::vector<std::vector<segment>> alternatives_;
};

}  // namespace sbx::fs
