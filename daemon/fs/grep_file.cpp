#include "daemon/fs/grep_file.hpp"

#include <re2/re2.h>
#include <string.h>  // memrchr

#include <algorithm>
#include <cstring>

#include "daemon/fs/errors.hpp"
#include "daemon/fs/file_io.hpp"

namespace sbx::fs {
namespace {

constexpr std::size_t piece_bytes = 1 << 20;
constexpr std::size_t line_bytes_max = 16 << 20;  // a longer line is searched in parts
constexpr std::size_t shown_bytes_max = 64 * 1024;
constexpr std::size_t shown_before_match = 8 * 1024;

class re2_matcher final : public line_matcher {
 public:
  re2_matcher(const std::string& pattern, const RE2::Options& options) : expression_(pattern, options) {}
  const RE2& expression() const { return expression_; }

  bool find(std::string_view text, std::size_t from, std::size_t& begin) const override {
    const re2::StringPiece whole(text.data(), text.size());
    re2::StringPiece match;
    if (!expression_.Match(whole, from, text.size(), RE2::UNANCHORED, &match, 1)) return false;
    begin = static_cast<std::size_t>(match.data() - text.data());
    return true;
  }

 private:
  RE2 expression_;
};

std::string_view without_end(std::string_view line) {
  if (!line.empty() && line.back() == '\n') line.remove_suffix(1);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

std::size_t line_begin(std::string_view text, std::size_t position) {
  const void* newline = position == 0 ? nullptr : ::memrchr(text.data(), '\n', position);
  return newline ? static_cast<std::size_t>(static_cast<const char*>(newline) - text.data()) + 1 : 0;
}

std::size_t line_end(std::string_view text, std::size_t position) {  // behind the newline
  const std::size_t newline = text.find('\n', position);
  return newline == std::string_view::npos ? text.size() : newline + 1;
}

// What is shown of a long line: the part around the match.
std::string shown(std::string_view line, std::size_t match) {
  if (line.size() <= shown_bytes_max) return std::string(line);
  const std::size_t begin = match > shown_before_match ? match - shown_before_match : 0;
  return std::string(line.substr(begin, shown_bytes_max));
}

// One piece of the file after another: [searched before | whole new lines], the first part kept for context.
class file_search {
 public:
  file_search(sys::fd_ref file, const line_matcher& matcher, const std::string& path, std::size_t context,
              grep_sink& sink, std::vector<char>& buffer, const call& how)
      : file_(file), matcher_(matcher), path_(path), context_(context), sink_(sink), buffer_(buffer), how_(how) {}

  file_outcome run() {
    const std::size_t matches_before = sink_.matches.size(), bytes_before = sink_.bytes;
    for (;;) {
      if (how_.stop.stopped()) return file_outcome::cancelled;
      const file_outcome outcome = next_piece();
      if (outcome == file_outcome::binary) {
        sink_.matches.resize(matches_before);
        sink_.bytes = bytes_before;
      }
      if (outcome != file_outcome::searched || eof_) return outcome;
    }
  }

 private:
  std::string_view text() const { return {buffer_.data(), end_}; }

  file_outcome next_piece() {
    if (buffer_.size() - filled_ < piece_bytes) buffer_.resize(filled_ + piece_bytes);
    const std::int64_t got = read_fully(file_, offset_, buffer_.data() + filled_, piece_bytes);
    if (got < 0) return file_outcome::unreadable;
    const auto bytes = static_cast<std::size_t>(got);
    if (bytes > 0 && std::memchr(buffer_.data() + filled_, '\0', bytes)) return file_outcome::binary;
    offset_ += got;
    filled_ += bytes;
    eof_ = bytes < piece_bytes;
    const std::string_view all(buffer_.data(), filled_);
    end_ = eof_ ? filled_ : line_begin(all, filled_);
    if (end_ <= searched_ && filled_ - searched_ > line_bytes_max) end_ = filled_;
    if (end_ <= searched_ && !eof_) return file_outcome::searched;
    add_pending_context();
    const file_outcome outcome = search();
    keep_context();
    return outcome;
  }

  file_outcome search() {
    std::size_t position = searched_;
    while (position < end_) {
      std::size_t match = 0;
      if (!matcher_.find(text(), position, match)) break;
      // Behind the last newline there is no line; behind a last line without one, its end.
      if (match >= end_ && text().back() == '\n') break;
      const std::size_t begin = std::max(line_begin(text(), match), searched_), end = line_end(text(), match);
      if (sink_.matches.size() == sink_.limit || sink_.bytes > sink_.bytes_max) return file_outcome::full;
      line_ += std::count(text().begin() + static_cast<std::ptrdiff_t>(counted_),
                          text().begin() + static_cast<std::ptrdiff_t>(begin), '\n');
      counted_ = begin;
      add_match(begin, match, end);
      position = end;
    }
    return file_outcome::searched;
  }

  void add_match(std::size_t begin, std::size_t match, std::size_t end) {
    const std::string_view line = without_end(text().substr(begin, end - begin));
    grep_match found;
    found.path = path_;
    found.line = line_;
    found.column = static_cast<std::int64_t>(match - begin) + 1;
    found.text = shown(line, match - begin);
    std::size_t from = begin;
    for (std::size_t count = 0; count < context_ && from > 0; ++count) {
      const std::size_t above = line_begin(text(), from - 1);
      found.before.insert(found.before.begin(), shown(without_end(text().substr(above, from - above)), 0));
      from = above;
    }
    sink_.bytes += found.text.size() + found.path.size();
    for (const std::string& one : found.before) sink_.bytes += one.size();
    sink_.matches.push_back(std::move(found));
    if (context_ == 0) return;
    add_after(sink_.matches.back(), end);
    if (sink_.matches.back().after.size() < context_) ++pending_;
  }

  void add_after(grep_match& found, std::size_t from) {
    while (found.after.size() < context_ && from < end_) {
      const std::size_t end = line_end(text(), from);
      found.after.push_back(shown(without_end(text().substr(from, end - from)), 0));
      sink_.bytes += found.after.back().size();
      from = end;
    }
  }

  // The last matches of the piece before may lack lines that have come only now.
  void add_pending_context() {
    std::size_t still = 0;
    for (std::size_t back = pending_; back > 0; --back) {
      grep_match& found = sink_.matches[sink_.matches.size() - back];
      add_after(found, searched_);
      if (found.after.size() < context_) ++still;
    }
    pending_ = still;
  }

  void keep_context() {
    line_ += std::count(text().begin() + static_cast<std::ptrdiff_t>(counted_), text().end(), '\n');
    std::size_t keep = end_;
    for (std::size_t count = 0; count < context_ && keep > 0; ++count) keep = line_begin(text(), keep - 1);
    if (end_ - keep > line_bytes_max) keep = end_;
    std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(keep),
              buffer_.begin() + static_cast<std::ptrdiff_t>(filled_), buffer_.begin());
    searched_ = counted_ = end_ - keep;
    filled_ -= keep;
    end_ = searched_;
  }

  sys::fd_ref file_;
  const line_matcher& matcher_;
  const std::string& path_;
  const std::size_t context_;
  grep_sink& sink_;
  std::vector<char>& buffer_;
  const call& how_;
  std::int64_t offset_ = 0;  // in the file, of what is read next
  std::int64_t line_ = 1;    // of the byte at counted_
  std::size_t counted_ = 0;
  std::size_t searched_ = 0;  // where the new lines begin in the buffer
  std::size_t end_ = 0;       // and end
  std::size_t filled_ = 0;    // bytes in the buffer: a part of a line follows end_
  std::size_t pending_ = 0;   // last matches that want more lines after them
  bool eof_ = false;
};

}  // namespace

result<std::shared_ptr<const line_matcher>> line_matcher::compile(const grep_request& request) {
  if (request.pattern.find('\0') != std::string::npos) return invalid("/pattern", "the pattern contains NUL");
  RE2::Options options;
  options.set_log_errors(false);
  options.set_case_sensitive(!request.ignore_case);
  options.set_never_nl(true);
  options.set_max_mem(32 << 20);
  // ^ and $ are a line's. A carriage return before the newline belongs to the line's end.
  auto matcher = std::make_shared<re2_matcher>("(?m)" + request.pattern, options);
  if (!matcher->expression().ok()) return invalid("/pattern", matcher->expression().error());
  return matcher;
}

file_outcome grep_file(sys::fd_ref file, const line_matcher& matcher, const std::string& path, std::size_t context,
                       grep_sink& sink, std::vector<char>& buffer, const call& how) {
  return file_search(file, matcher, path, context, sink, buffer, how).run();
}

}  // namespace sbx::fs
