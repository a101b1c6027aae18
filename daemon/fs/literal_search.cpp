#include "daemon/fs/literal_search.hpp"

#include <string.h>  // memmem

#include <algorithm>
#include <cerrno>

namespace sbx::fs {
namespace {

constexpr std::size_t chunk_bytes = 1 << 20;
constexpr std::size_t offsets_max = 10;

// The shortest distance at which the needle can overlap itself (Knuth, Morris, Pratt); its length when it can't.
std::size_t shortest_period(std::string_view needle) {
  std::vector<std::uint32_t> border(needle.size() + 1, 0);
  std::size_t length = 0;
  for (std::size_t index = 1; index < needle.size(); ++index) {
    while (length > 0 && needle[index] != needle[length]) length = border[length];
    if (needle[index] == needle[length]) ++length;
    border[index + 1] = static_cast<std::uint32_t>(length);
  }
  return needle.size() - border[needle.size()];
}

// A window that slides over the content: refilled so that no match is ever cut by its edge.
class window {
 public:
  window(const byte_reader& read, std::size_t needle_bytes)
      : read_(read), buffer_(std::max(chunk_bytes, 2 * needle_bytes)) {}

  std::string_view rest() const { return {buffer_.data() + begin_, end_ - begin_}; }
  std::int64_t offset() const { return base_ + static_cast<std::int64_t>(begin_); }
  bool complete() const { return eof_; }  // rest() reaches to the end of the content
  void skip(std::size_t bytes) { begin_ += bytes; }

  // Keeps rest() and reads on behind it. 0 or an errno.
  int refill() {
    std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
              buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
    base_ += static_cast<std::int64_t>(begin_);
    end_ -= begin_;
    begin_ = 0;
    const std::size_t room = buffer_.size() - end_;
    const std::int64_t got = read_(base_ + static_cast<std::int64_t>(end_), buffer_.data() + end_, room);
    if (got < 0) return static_cast<int>(-got);
    end_ += static_cast<std::size_t>(got);
    eof_ = static_cast<std::size_t>(got) < room;
    return 0;
  }

 private:
  const byte_reader& read_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0, end_ = 0;
  std::int64_t base_ = 0;
  bool eof_ = false;
};

const char* find(std::string_view text, std::string_view needle) {
  return static_cast<const char*>(::memmem(text.data(), text.size(), needle.data(), needle.size()));
}

void note(match_report& report, std::int64_t offset) {
  ++report.count;
  if (report.offsets.size() < offsets_max) report.offsets.push_back(offset);
}

// Matches that follow the one at the window's beginning at the shortest period: only the new bytes are compared.
void pass_run(window& content, std::string_view needle, std::size_t period, match_report& report) {
  const std::string_view tail = needle.substr(needle.size() - period);
  while (content.rest().size() >= needle.size() + period && content.rest().substr(needle.size(), period) == tail) {
    content.skip(period);
    note(report, content.offset());
  }
  content.skip(period);
}

}  // namespace

match_report count_matches(const byte_reader& read, std::string_view needle, matches_counted how,
                           const std::function<bool()>& stopped) {
  match_report report;
  window content(read, needle.size());
  std::size_t period = 0;
  while (!content.complete()) {
    if (stopped()) report.failed = ECANCELED;
    if (report.failed == 0) report.failed = content.refill();
    if (report.failed != 0) return report;
    while (const char* match = find(content.rest(), needle)) {
      content.skip(static_cast<std::size_t>(match - content.rest().data()));
      note(report, content.offset());
      if (how == matches_counted::one_after_another) {
        content.skip(needle.size());
      } else {
        if (period == 0) period = shortest_period(needle);
        pass_run(content, needle, period, report);
      }
    }
    const std::size_t keep = std::min(content.rest().size(), needle.size() - 1);
    content.skip(content.rest().size() - keep);
  }
  return report;
}

int replace_matches(const byte_reader& read, std::string_view needle, std::string_view replacement,
                    const byte_writer& write, const std::function<bool()>& stopped) {
  window content(read, needle.size());
  int failed = 0;
  while (!content.complete() && failed == 0) {
    if (stopped()) return ECANCELED;
    failed = content.refill();
    while (failed == 0) {
      const char* match = find(content.rest(), needle);
      if (!match) break;
      const auto before = static_cast<std::size_t>(match - content.rest().data());
      failed = write(content.rest().substr(0, before));
      if (failed == 0) failed = write(replacement);
      content.skip(before + needle.size());
    }
    if (failed != 0) break;
    const std::size_t keep = content.complete() ? 0 : std::min(content.rest().size(), needle.size() - 1);
    const std::size_t settled = content.rest().size() - keep;
    failed = write(content.rest().substr(0, settled));
    content.skip(settled);
  }
  return failed;
}

int lines_of(const byte_reader& read, const std::vector<std::int64_t>& offsets, std::vector<std::int64_t>& lines,
             const std::function<bool()>& stopped) {
  window content(read, 1);
  std::int64_t line = 1;
  for (const std::int64_t offset : offsets) {
    while (content.offset() < offset) {
      if (stopped()) return ECANCELED;
      if (content.rest().empty()) {
        if (content.complete()) return 0;
        if (const int failed = content.refill(); failed != 0) return failed;
        continue;
      }
      const auto wanted = static_cast<std::size_t>(offset - content.offset());
      const std::string_view part = content.rest().substr(0, wanted);
      line += std::count(part.begin(), part.end(), '\n');
      content.skip(part.size());
    }
    lines.push_back(line);
  }
  return 0;
}

}  // namespace sbx::fs
