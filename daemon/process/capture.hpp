// The first and last part of a stream, in memory: what exec.run answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/process/output_log.hpp"
#include "daemon/process/sink.hpp"

namespace sbx::process {

// What was kept of a stream. With dropped_at set, `data` is what came before that offset, then what came at the end.
struct captured {
  captured() = default;
  std::string data;
  std::int64_t total_bytes = 0, dropped_bytes = 0;
  std::optional<std::int64_t> dropped_at;
};

class capture final : public output_sink {
 public:
  explicit capture(std::size_t bytes_max) : head_max_(bytes_max / 2), tail_max_(bytes_max - bytes_max / 2) {}

  drained drain(sys::fd_ref source, std::size_t& bytes) override;
  void append(std::string_view bytes);

  // Text is cut at character borders only. Empties the capture.
  captured take();

  // For a stream that goes on in `log`, which is fresh: what was kept goes there too. A character that has only begun
  // at the end is left to the log's readers: total_bytes ends before it. Empties the capture.
  captured hand_over(output_log& log);

  // Puts what it holds, and what it dropped, in front of what `later` is going to hold. Empties the capture.
  void pour_into(capture& later);

 private:
  void skip(std::int64_t bytes);
  captured take(std::size_t left_out);
  std::string last() const { return tail_.substr(tail_at_) + tail_.substr(0, tail_at_); }
  std::int64_t dropped() const { return total_ - static_cast<std::int64_t>(head_.size() + tail_.size()); }

  std::size_t head_max_, tail_max_;
  std::string head_, tail_;  // tail_ is a ring once it is full: tail_at_ is where its oldest byte lies
  std::size_t tail_at_ = 0;
  std::int64_t total_ = 0;
};

}  // namespace sbx::process
