// Questions about absolute, canonical paths as text. Pure.
#pragma once

#include <string_view>

namespace sbx::sandbox {

// `path` is `directory` or lies beneath it.
constexpr bool is_within(std::string_view path, std::string_view directory) {
  if (directory == "/") return path.starts_with('/');
  return path.starts_with(directory) && (path.size() == directory.size() || path[directory.size()] == '/');
}

constexpr bool overlap(std::string_view a, std::string_view b) {
  return is_within(a, b) || is_within(b, a);
}

}  // namespace sbx::sandbox
