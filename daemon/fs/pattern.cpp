#include "daemon/fs/pattern.hpp"

#include <cctype>
#include <cstdint>

#include "daemon/fs/braces.hpp"
#include "daemon/fs/errors.hpp"
#include "daemon/sys/utf8.hpp"

namespace sbx::fs {
namespace {

std::string_view take_character(std::string_view& text) {
  const std::string_view one = text.substr(0, sys::character_length(text));
  text.remove_prefix(one.size());
  return one;
}

bool in_named_class(std::string_view name, std::string_view character) {
  if (character.size() != 1) return name == "alpha" || name == "alnum" || name == "print" || name == "graph";
  const int byte = static_cast<unsigned char>(character[0]);
  if (name == "alpha") return std::isalpha(byte) != 0;
  if (name == "digit") return std::isdigit(byte) != 0;
  if (name == "alnum") return std::isalnum(byte) != 0;
  if (name == "upper") return std::isupper(byte) != 0;
  if (name == "lower") return std::islower(byte) != 0;
  if (name == "space") return std::isspace(byte) != 0;
  if (name == "punct") return std::ispunct(byte) != 0;
  if (name == "xdigit") return std::isxdigit(byte) != 0;
  if (name == "print") return std::isprint(byte) != 0;
  if (name == "graph") return std::isgraph(byte) != 0;
  return false;
}

// A valid character orders by its bytes just as by its code point; a shorter sequence is always lower.
bool in_range(std::string_view low, std::string_view character, std::string_view high) {
  const auto key = [](std::string_view bytes) {
    std::uint64_t value = bytes.size();
    for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
    return bytes.size() == 1 ? value & 0xff : value;
  };
  return key(low) <= key(character) && key(character) <= key(high);
}

// `rest` begins after '['. On success it is moved past the ']'. No ']' : not a bracket expression.
bool bracket_closes(std::string_view rest) {
  std::size_t position = 0;
  if (position < rest.size() && (rest[position] == '!' || rest[position] == '^')) ++position;
  if (position < rest.size() && rest[position] == ']') ++position;
  while (position < rest.size() && rest[position] != ']') {
    if (rest[position] == '\\') ++position;
    if (rest.substr(position, 2) == "[:") {
      const std::size_t end = rest.find(":]", position);
      if (end != std::string_view::npos) position = end + 1;
    }
    ++position;
  }
  return position < rest.size();
}

std::string_view take_member(std::string_view& rest) {
  if (rest.front() == '\\' && rest.size() > 1) rest.remove_prefix(1);
  return take_character(rest);
}

bool matches_bracket(std::string_view& rest, std::string_view character) {
  bool negated = false;
  if (rest.front() == '!' || rest.front() == '^') {
    negated = true;
    rest.remove_prefix(1);
  }
  bool found = false;
  for (bool first = true; first || rest.front() != ']'; first = false) {
    const std::size_t class_end = rest.substr(0, 2) == "[:" ? rest.find(":]") : std::string_view::npos;
    if (class_end != std::string_view::npos) {
      found |= in_named_class(rest.substr(2, class_end - 2), character);
      rest.remove_prefix(class_end + 2);
      continue;
    }
    const std::string_view low = take_member(rest);
    if (rest.size() > 2 && rest[0] == '-' && rest[1] != ']') {
      rest.remove_prefix(1);
      found |= in_range(low, character, take_member(rest));
    } else {
      found |= low == character;
    }
  }
  rest.remove_prefix(1);
  return found != negated;
}

// One step of the pattern that is not a star, on one character of the name.
bool step_matches(std::string_view& wildcard, std::string_view& name) {
  if (wildcard.empty() || name.empty()) return false;
  const std::string_view character = take_character(name);
  const char sign = wildcard.front();
  if (sign == '?') {
    wildcard.remove_prefix(1);
    return true;
  }
  if (sign == '[' && bracket_closes(wildcard.substr(1))) {
    wildcard.remove_prefix(1);
    return matches_bracket(wildcard, character);
  }
  return take_member(wildcard) == character;
}

bool is_wild(std::string_view part) {
  for (std::size_t position = 0; position < part.size(); ++position) {
    if (part[position] == '\\') {
      ++position;
    } else if (part[position] == '*' || part[position] == '?' || part[position] == '[') {
      return true;
    }
  }
  return false;
}

std::string unescaped(std::string_view part) {
  std::string text;
  for (std::size_t position = 0; position < part.size(); ++position) {
    if (part[position] == '\\' && position + 1 < part.size()) ++position;
    text.push_back(part[position]);
  }
  return text;
}

segment make_segment(std::string_view part) {
  segment one;
  if (part == "**") {
    one.what = segment::kind::any_depth;
  } else if (is_wild(part)) {
    one.what = segment::kind::wildcard;
    one.text = part;
  } else {
    one.text = unescaped(part);
  }
  return one;
}

result<alternative> split(std::string_view text) {
  alternative whole;
  whole.directories_only = text.size() > 1 && text.back() == '/';
  whole.segments = split_segments(text);
  for (const segment& one : whole.segments) {
    if (one.what == segment::kind::literal && one.text == "..") return denied_outside();
  }
  return whole;
}

// Which positions in the segments can be reached before the next name.
using positions = std::vector<bool>;

void close_over(const std::vector<segment>& segments, positions& now) {
  for (std::size_t index = 0; index + 1 < segments.size(); ++index) {
    if (now[index] && segments[index].what == segment::kind::any_depth) now[index + 1] = true;
  }
}

positions advance(const std::vector<segment>& segments, const positions& now, std::string_view name, dot_names dots) {
  positions next(segments.size() + 1, false);
  for (std::size_t index = 0; index < segments.size(); ++index) {
    if (!now[index] || !matches_segment(segments[index], name, dots)) continue;
    const bool any_depth = segments[index].what == segment::kind::any_depth;
    if (any_depth) next[index] = true;
    if (!any_depth || index + 1 == segments.size()) next[index + 1] = true;
  }
  close_over(segments, next);
  return next;
}

positions first_positions(const std::vector<segment>& segments) {
  positions now(segments.size() + 1, false);
  now[0] = true;
  close_over(segments, now);
  return now;
}

enum class extent { whole, prefix };

bool run(const std::vector<segment>& segments, std::string_view path, dot_names dots, extent wanted) {
  positions now = first_positions(segments);
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    now = advance(segments, now, path.substr(0, slash), dots);
    path.remove_prefix(std::min(slash + 1, path.size()));
    if (wanted == extent::prefix && now.back()) return true;
  }
  return now.back();
}

}  // namespace

bool matches_name(std::string_view wildcard, std::string_view name, dot_names dots) {
  if (dots == dot_names::skipped && !name.empty() && name.front() == '.') {
    const bool literal_dot = wildcard.substr(0, 1) == "." || wildcard.substr(0, 2) == "\\.";
    if (!literal_dot) return false;
  }
  std::string_view star_pattern, star_name;
  bool starred = false;
  while (!name.empty() || !wildcard.empty()) {
    if (!wildcard.empty() && wildcard.front() == '*') {
      wildcard.remove_prefix(1);
      if (wildcard.empty()) return true;
      star_pattern = wildcard;
      star_name = name;
      starred = true;
      continue;
    }
    if (step_matches(wildcard, name)) continue;
    if (!starred || star_name.empty()) return false;
    take_character(star_name);
    wildcard = star_pattern;
    name = star_name;
  }
  return true;
}

bool matches_segment(const segment& one, std::string_view name, dot_names dots) {
  switch (one.what) {
    case segment::kind::literal:
      return one.text == name;
    case segment::kind::wildcard:
      return matches_name(one.text, name, dots);
    case segment::kind::any_depth:
      return dots == dot_names::matched || name.substr(0, 1) != ".";
  }
  return false;
}

std::vector<segment> split_segments(std::string_view text) {
  std::vector<segment> segments;
  while (!text.empty()) {
    const std::size_t slash = std::min(text.find('/'), text.size());
    std::string_view part = text.substr(0, slash);
    const bool escaped = slash < text.size() && !part.empty() && part.back() == '\\' &&
                         (part.size() < 2 || part[part.size() - 2] != '\\');
    if (escaped) part.remove_suffix(1);  // an escaped slash is a slash
    text.remove_prefix(std::min(slash + 1, text.size()));
    if (part.empty() || part == ".") continue;
    segment one = make_segment(part);
    const bool repeated =
        one.what == segment::kind::any_depth && !segments.empty() && segments.back().what == segment::kind::any_depth;
    if (!repeated) segments.push_back(std::move(one));
  }
  return segments;
}

bool matches_segments(const std::vector<segment>& segments, std::string_view path, dot_names dots) {
  return run(segments, path, dots, extent::whole);
}

result<pattern> pattern::compile(std::string_view text) {
  if (text.empty()) return invalid("/pattern", "the pattern is empty");
  if (text.find('\0') != std::string_view::npos) return invalid("/pattern", "the pattern contains NUL");
  auto texts = expand_braces(text);
  if (!texts) return fail(std::move(texts.error()));
  pattern whole;
  for (const std::string& one : *texts) {
    auto parts = split(one);
    if (!parts) return fail(std::move(parts.error()));
    if (!parts->segments.empty()) whole.alternatives_.push_back(std::move(*parts));
  }
  return whole;
}

pattern::progress pattern::begin() const {
  progress now(*this);
  for (const alternative& one : alternatives_) now.positions_.push_back(first_positions(one.segments));
  return now;
}

pattern::progress pattern::progress::after(std::string_view name, dot_names dots) const {
  progress next(*whole_);
  for (std::size_t index = 0; index < positions_.size(); ++index) {
    next.positions_.push_back(advance(whole_->alternatives_[index].segments, positions_[index], name, dots));
  }
  return next;
}

bool pattern::progress::matched() const {
  for (std::size_t index = 0; index < positions_.size(); ++index) {
    if (positions_[index].back() && !whole_->alternatives_[index].directories_only) return true;
  }
  return false;
}

bool pattern::progress::matched_as_directory() const {
  for (const auto& now : positions_) {
    if (now.back()) return true;
  }
  return false;
}

bool pattern::progress::may_go_on() const {
  for (const auto& now : positions_) {
    for (std::size_t index = 0; index + 1 < now.size(); ++index) {
      if (now[index]) return true;
    }
  }
  return false;
}

bool pattern::matches(std::string_view relative_path, dot_names dots) const {
  for (const alternative& one : alternatives_) {
    if (run(one.segments, relative_path, dots, extent::whole)) return true;
  }
  return false;
}

bool pattern::covers(std::string_view relative_path, dot_names dots) const {
  for (const alternative& one : alternatives_) {
    if (run(one.segments, relative_path, dots, extent::prefix)) return true;
  }
  return false;
}

}  // namespace sbx::fs
