#include "proto/framing.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace sbx::proto {
namespace {

constexpr std::size_t header_bytes_max = 8192;

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

std::optional<std::uint64_t> parse_length(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) return UINT64_MAX;
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

void frame_parser::feed(std::string_view bytes) {
  fed_ += bytes.size();
  if (failure_) return;
  compact();
  buffer_.append(bytes);
}

void frame_parser::finish() {
  finished_ = true;
}

void frame_parser::fail(std::string message) {
  failure_ = wire_error(error_kind::invalid_request, std::move(message));
  buffer_.clear();
  position_ = scanned_ = 0;
  base_ = fed_;
}

// Moves what is left to the front once what lies before it outweighs it.
void frame_parser::compact() {
  if (position_ == 0 || position_ < buffer_.size() - position_) return;
  buffer_.erase(0, position_);
  base_ += position_;
  position_ = 0;
  if (buffer_.empty() && buffer_.capacity() > (1 << 20)) buffer_.shrink_to_fit();
}

// Between frames: blank lines count for nothing.
void frame_parser::skip_blank() {
  while (position_ < buffer_.size()) {
    if (buffer_[position_] == '\n') {
      ++position_;
    } else if (buffer_[position_] == '\r' && position_ + 1 < buffer_.size() && buffer_[position_ + 1] == '\n') {
      position_ += 2;
    } else {
      return;
    }
  }
}

std::optional<frame> frame_parser::next() {
  if (failure_ || position_ == buffer_.size()) return std::nullopt;
  if (framing_ == framing::undecided)
    framing_ = buffer_[position_] == 'C' || buffer_[position_] == 'c' ? framing::headers : framing::line;
  if (framing_ == framing::headers) {
    if (scanned_ == 0 && !body_bytes_) skip_blank();
    return next_headers();
  }
  while (true) {
    if (scanned_ == 0) skip_blank();
    auto made = next_line();
    if (!made || !trim(made->text).empty()) return made;
  }
}

std::optional<frame> frame_parser::next_line() {
  const std::string_view rest = std::string_view(buffer_).substr(position_);
  const std::size_t end = rest.find('\n', scanned_);
  const bool cut = end == std::string_view::npos;
  std::string_view text = rest.substr(0, end);
  if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  if (text.size() > frame_bytes_max_) {
    fail("The message is larger than " + std::to_string(frame_bytes_max_) + " bytes.");
    return std::nullopt;
  }
  if (rest.empty() || (cut && !finished_)) {
    scanned_ = rest.size();
    return std::nullopt;
  }
  frame made;
  made.text = std::string(text);
  made.begin = base_ + position_;
  position_ += cut ? rest.size() : end + 1;
  made.end = base_ + position_;
  scanned_ = 0;
  return made;
}

bool frame_parser::parse_header_block(std::string_view block) {
  std::optional<std::uint64_t> length;
  while (!block.empty()) {
    const std::size_t end = std::min(block.find('\n'), block.size());
    const std::string_view line = trim(block.substr(0, end));
    block.remove_prefix(std::min(end + 1, block.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return false;
    if (!equal_ignoring_case(trim(line.substr(0, colon)), "Content-Length")) continue;
    const auto value = parse_length(trim(line.substr(colon + 1)));
    if (!value || (length && *length != *value)) return false;
    length = value;
  }
  if (!length) return false;
  body_bytes_ = static_cast<std::size_t>(*length);
  return true;
}

std::optional<frame> frame_parser::next_headers() {
  const std::string_view rest = std::string_view(buffer_).substr(position_);
  if (!body_bytes_) {
    const std::size_t from = scanned_ < 3 ? 0 : scanned_ - 3;
    const std::size_t end = rest.find("\r\n\r\n", from);
    if (end == std::string_view::npos) {
      scanned_ = rest.size();
      if (rest.size() > header_bytes_max)
        fail("The header is larger than " + std::to_string(header_bytes_max) + " bytes.");
      return std::nullopt;
    }
    if (end > header_bytes_max || !parse_header_block(rest.substr(0, end))) {
      fail("The header has no valid Content-Length.");
      return std::nullopt;
    }
    header_bytes_ = end + 4;
  }
  if (*body_bytes_ > frame_bytes_max_) {
    fail("The message is larger than " + std::to_string(frame_bytes_max_) + " bytes.");
    return std::nullopt;
  }
  if (rest.size() - header_bytes_ < *body_bytes_) {
    scanned_ = rest.size();
    return std::nullopt;
  }
  frame made;
  made.text = std::string(rest.substr(header_bytes_, *body_bytes_));
  made.begin = base_ + position_;
  position_ += header_bytes_ + *body_bytes_;
  made.end = base_ + position_;
  body_bytes_.reset();
  scanned_ = header_bytes_ = 0;
  return made;
}

std::string wrap_frame(framing how, std::string text) {
  if (how == framing::headers) return "Content-Length: " + std::to_string(text.size()) + "\r\n\r\n" + text;
  text += '\n';
  return text;
}

}  // namespace sbx::proto
