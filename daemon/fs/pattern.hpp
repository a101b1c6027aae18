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

// `*` and `?` match characters (of UTF-8; a stray byte counts as one), never a slash.
bool matches_name(std::string_view wildcard, std::string_view name, dot_names dots);
bool matches_segment(const segment& one, std::string_view name, dot_names dots);

// The parts between slashes; empty ones and "." are left out, no braces, ".." as a name like others.
std::vector<segment> split_segments(std::string_view text);
bool matches_segments(const std::vector<segment>& segments, std::string_view path, dot_names dots);

// One way to read a pattern, its braces chosen.
struct alternative {
  alternative() = default;
  std::vector<segment> segments;
  bool directories_only = false;  // it ends with a slash
};

// A path pattern. "**" as a whole part matches any number of parts, at the end at least one. Matching takes time
// bounded by segments × names × length, never exponential.
class pattern {
 public:
  pattern() = default;
  // invalid_params: empty or NUL; denied: ".." as a part; limit: more than 1,000 alternatives or 64 KiB. "." parts and
  // leading slashes are dropped; an unclosed bracket or brace stands for itself.
  static result<pattern> compile(std::string_view text);

  bool matches(std::string_view relative_path, dot_names dots) const;
  // It matches the path or a directory above it.
  bool covers(std::string_view relative_path, dot_names dots) const;

  // The pattern part way down a path: for walks, which see one name after another.
  class progress;
  progress begin() const;

 private:
  std::vector<alternative> alternatives_;
};

// Refers to its pattern, which outlives it.
class pattern::progress {
 public:
  progress after(std::string_view name, dot_names dots) const;
  bool matched() const;               // by the names so far
  bool matched_as_directory() const;  // likewise, if they lead to a directory
  bool may_go_on() const;             // some longer path may match

 private:
  friend class pattern;
  explicit progress(const pattern& whole) : whole_(&whole) {}
  const pattern* whole_;
  std::vector<std::vector<bool>> positions_;  // of each alternative: which segments may come next
};

}  // namespace sbx::fs
