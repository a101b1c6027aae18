// Where one message ends and the next begins, sans I/O: bytes in, frames out. The first byte of a connection decides
// between one JSON value a line and LSP headers ('C' or 'c').
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "proto/error.hpp"

namespace sbx::proto {

enum class framing { undecided, line, headers };

// A frame and where it lay in the stream: [begin, end) of its bytes, headers and line ends included (blank lines before
// it are not).
struct frame {
  frame() = default;
  std::string text;
  std::uint64_t begin = 0, end = 0;
};

class frame_parser {
 public:
  explicit frame_parser(std::size_t frame_bytes_max) : frame_bytes_max_(frame_bytes_max) {}

  // Bytes as received. Ignored after a failure.
  void feed(std::string_view bytes);

  // The stream has ended: a last line without its '\n' is a frame.
  void finish();

  // The next whole frame, if there is one.
  std::optional<frame> next();

  // Set when the stream cannot be followed any further (too large, a header without a valid length): answer it with id
  // null and close. Frames before it have all been given out by next() when next() answers nullopt.
  const std::optional<wire_error>& failure() const { return failure_; }

  proto::framing framing() const { return framing_; }

  // Stream offset of the byte after the last one fed.
  std::uint64_t fed() const { return fed_; }
  // Stream offset at which the frame begins that is being collected: the first byte not yet given out, blank lines
  // skipped. Equals fed() between frames.
  std::uint64_t pending_begin() const { return base_ + position_; }
  std::size_t buffered() const { return buffer_.size() - position_; }

 private:
  std::optional<frame> next_line();
  std::optional<frame> next_headers();
  bool parse_header_block(std::string_view block);
  void fail(std::string message);
  void compact();
  void skip_blank();

  std::size_t frame_bytes_max_;
  proto::framing framing_ = framing::undecided;
  std::string buffer_;
  std::size_t position_ = 0;  // of the first byte not given out
  std::size_t scanned_ = 0;   // from position_: known to hold no end of line
  std::uint64_t base_ = 0;    // stream offset of buffer_[0]
  std::uint64_t fed_ = 0;
  std::optional<std::size_t> body_bytes_;  // headers: length of the body at position_ + header_bytes_
  std::size_t header_bytes_ = 0;
  bool finished_ = false;
  std::optional<wire_error> failure_;
};

// A message in the framing of its connection (undecided counts as line).
std::string wrap_frame(framing how, std::string text);

}  // namespace sbx::proto
