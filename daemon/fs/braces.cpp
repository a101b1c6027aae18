#include "daemon/fs/braces.hpp"

#include <cstddef>
#include <optional>

namespace sbx::fs {
namespace {

constexpr std::size_t texts_max = 1000;
constexpr std::size_t bytes_max = 64 * 1024;

struct brace {
  std::size_t open = 0, close = 0;
  std::vector<std::string_view> choices;
};

// The choices of the brace that opens at `open`; none when it is not closed or has no comma of its own.
std::optional<brace> read_brace(std::string_view text, std::size_t open) {
  brace found;
  found.open = open;
  std::size_t begin = open + 1, depth = 0;
  for (std::size_t position = open + 1; position < text.size(); ++position) {
    const char sign = text[position];
    if (sign == '\\') {
      ++position;
    } else if (sign == '{') {
      ++depth;
    } else if (sign == '}' && depth > 0) {
      --depth;
    } else if (depth == 0 && (sign == ',' || sign == '}')) {
      found.choices.push_back(text.substr(begin, position - begin));
      begin = position + 1;
      found.close = position;
      if (sign == '}') break;
    }
  }
  const bool closed = found.close != 0 && text[found.close] == '}';
  if (!closed || found.choices.size() < 2) return std::nullopt;
  return found;
}

// Braces that were found not to close are not looked at again: the scan for one is linear, and only `tries_max` are
// made.
std::optional<brace> first_brace(std::string_view text) {
  constexpr int tries_max = 1000;
  int tries = 0;
  for (std::size_t position = 0; position < text.size() && tries < tries_max; ++position) {
    if (text[position] == '\\') {
      ++position;
    } else if (text[position] == '{') {
      ++tries;
      if (auto found = read_brace(text, position)) return found;
    }
  }
  return std::nullopt;
}

tl::unexpected<error> too_many() {
  return fail(error(error_kind::limit, "the pattern has too many alternatives")
                  .with("limit", std::string("pattern_alternatives"))
                  .with("max", std::int64_t{texts_max}));
}

}  // namespace

result<std::vector<std::string>> expand_braces(std::string_view text) {
  if (text.size() > bytes_max) return too_many();
  std::vector<std::string> done, pending{std::string(text)};
  std::size_t bytes = 0;
  while (!pending.empty()) {
    const std::string current = std::move(pending.back());
    pending.pop_back();
    const auto found = first_brace(current);
    if (!found) {
      bytes += current.size();
      done.push_back(current);
    } else {
      const std::string_view whole = current;
      for (auto choice = found->choices.rbegin(); choice != found->choices.rend(); ++choice) {
        std::string next(whole.substr(0, found->open));
        next.append(*choice).append(whole.substr(found->close + 1));
        pending.push_back(std::move(next));
      }
    }
    std::size_t waiting = 0;
    for (const std::string& one : pending) waiting += one.size();
    if (done.size() + pending.size() > texts_max || bytes + waiting > 4 * bytes_max) return too_many();
  }
  return done;
}

}  // namespace sbx::fs
