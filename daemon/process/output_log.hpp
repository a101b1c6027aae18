// What a job or terminal has written: append-only bytes with absolute offsets, any number of readers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "daemon/async/event.hpp"
#include "daemon/process/sink.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::process {

enum class retain_rule { tail, head };

// text: a character is never split at the end of what is read, an incomplete one (at most 3 bytes) stays for the next
// read while more may come. bytes: whatever is there.
enum class reading { text, bytes };

struct log_chunk {
  log_chunk() = default;
  std::string data;
  std::int64_t offset = 0;       // where data begins: the offset asked for + lost_bytes
  std::int64_t next_offset = 0;  // where the next read begins
  std::int64_t lost_bytes = 0;   // between the offset asked for and `offset`, not kept any more
  bool at_end = false;           // nothing comes after next_offset
  bool says_something() const { return !data.empty() || lost_bytes > 0; }
};

// A sparse file in memory whose offset is the stream's, made with the first byte; holes are punched behind `tail`,
// `head` stops storing and counts. Lives on its process's strand.
class output_log final : public output_sink {
 public:
  output_log(std::size_t retain_bytes, retain_rule rule);

  drained drain(sys::fd_ref source, std::size_t& bytes) override;
  void append(std::string_view bytes);
  // Bytes that were written but that nobody can give back: they count and are lost.
  void skip(std::int64_t bytes);
  void finish() override;

  std::int64_t total() const { return total_; }
  bool finished() const { return finished_; }

  // At most max_bytes (at least 4). An offset beyond the end is answered with nothing.
  log_chunk read(std::int64_t offset, std::size_t max_bytes, reading how) const;

  // Notified whenever bytes came or the log was finished.
  async::signal& changed() { return changed_; }

 private:
  enum class moved { some, none, ended };
  moved move_some(sys::fd_ref source, std::size_t& bytes);
  moved copy_some(sys::fd_ref source, std::size_t& bytes);
  std::size_t room() const;
  bool have_file();
  void stored(std::int64_t bytes);
  void close_head();
  std::int64_t first() const;
  std::string load(std::int64_t from, std::size_t bytes) const;

  const std::int64_t retain_;
  const retain_rule rule_;
  sys::unique_fd file_;
  std::int64_t total_ = 0;
  std::int64_t floor_ = 0;     // nothing before it is kept, whatever the rule
  std::int64_t punched_ = 0;   // below it the file has holes
  std::int64_t head_end_ = 0;  // head: where what is kept ends
  bool head_closed_ = false, can_splice_ = true, finished_ = false;
  async::signal changed_;
};

}  // namespace sbx::process
