#include "daemon/process/output_log.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "daemon/sys/memfd.hpp"
#include "daemon/sys/utf8.hpp"

namespace sbx::process {

namespace {

constexpr std::size_t chunk_bytes = 65536;
constexpr std::size_t splice_bytes = 1u << 20;  // a pipe that was enlarged inside holds at most so much
constexpr int chunks_at_once = 4;
constexpr std::int64_t page_bytes = 4096;
constexpr std::int64_t slack_bytes = 256 * 1024;  // punched in pieces of this size

// How many bytes at the front continue a character that began before.
std::size_t broken_head(std::string_view bytes) {
  std::size_t count = 0;
  while (count < 3 && count < bytes.size() && (static_cast<unsigned char>(bytes[count]) & 0xC0) == 0x80) ++count;
  return count;
}

}  // namespace

output_log::output_log(std::size_t retain_bytes, retain_rule rule)
    : retain_(static_cast<std::int64_t>(retain_bytes)), rule_(rule) {}

drained output_log::drain(sys::fd_ref source, std::size_t& bytes) {
  const std::int64_t before = total_;
  drained state = drained::more;
  for (int round = 0; round < chunks_at_once && state == drained::more; ++round) {
    const moved step = can_splice_ && room() > 0 && have_file() ? move_some(source, bytes) : copy_some(source, bytes);
    if (step == moved::none) state = drained::empty;
    if (step == moved::ended) state = drained::ended;
  }
  if (state == drained::ended) {
    finish();
  } else if (total_ != before) {
    changed_.notify_all();
  }
  return state;
}

output_log::moved output_log::move_some(sys::fd_ref source, std::size_t& bytes) {
  const auto got = sys::splice_at(source, file_, total_, std::min(room(), splice_bytes));
  if (got == 0) return moved::ended;
  if (got > 0) {
    bytes += static_cast<std::size_t>(got);
    stored(got);
    return moved::some;
  }
  if (errno == EAGAIN) return moved::none;
  // A terminal cannot be spliced; and where memory is short, what comes is still taken, and counted.
  if (errno == EINVAL) can_splice_ = false;
  return copy_some(source, bytes);
}

output_log::moved output_log::copy_some(sys::fd_ref source, std::size_t& bytes) {
  std::array<char, chunk_bytes> chunk;
  ssize_t got;
  do {
    got = ::read(source.get(), chunk.data(), chunk.size());
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) return moved::none;
  if (got <= 0) return moved::ended;  // EIO is a terminal's end
  bytes += static_cast<std::size_t>(got);
  append(std::string_view(chunk.data(), static_cast<std::size_t>(got)));
  return moved::some;
}

std::size_t output_log::room() const {
  if (rule_ == retain_rule::tail) return splice_bytes;
  return head_closed_ ? 0 : static_cast<std::size_t>(retain_ - total_);
}

bool output_log::have_file() {
  if (file_) return true;
  auto made = sys::open_memory_file("sbx-output");
  if (made) file_ = std::move(*made);
  return static_cast<bool>(file_);
}

void output_log::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t part = std::min(bytes.size(), room());
    const std::int64_t put = part > 0 && have_file() ? sys::write_at(file_, bytes.data(), part, total_) : 0;
    if (put <= 0) return skip(static_cast<std::int64_t>(bytes.size()));
    stored(put);
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  changed_.notify_all();
}

void output_log::skip(std::int64_t bytes) {
  if (bytes == 0) return;
  if (rule_ == retain_rule::head) {
    close_head();
  } else {
    floor_ = total_ + bytes;
  }
  total_ += bytes;
  changed_.notify_all();
}

void output_log::stored(std::int64_t bytes) {
  total_ += bytes;
  if (rule_ == retain_rule::head) {
    head_end_ = total_;
    if (total_ >= retain_) head_closed_ = true;
    return;
  }
  const std::int64_t keep_from = std::max(floor_, total_ - retain_) / page_bytes * page_bytes;
  if (keep_from - punched_ < slack_bytes) return;
  sys::punch_hole(file_, punched_, keep_from - punched_);
  punched_ = keep_from;
}

// Something follows that is not kept: a character that is cut there will never be whole.
void output_log::close_head() {
  head_closed_ = true;
  if (head_end_ != total_) return;
  const std::string last = load(std::max<std::int64_t>(0, head_end_ - 3), 3);
  for (std::size_t from = 0; from < last.size(); ++from) {
    const auto check = sys::check_utf8(std::string_view(last).substr(from));
    if (check.valid_bytes == 0 && check.incomplete_tail == last.size() - from) {
      head_end_ -= static_cast<std::int64_t>(check.incomplete_tail);
      return;
    }
  }
}

void output_log::finish() {
  finished_ = true;
  changed_.notify_all();
}

std::int64_t output_log::first() const {
  return rule_ == retain_rule::head ? 0 : std::max(floor_, total_ - retain_);
}

std::string output_log::load(std::int64_t from, std::size_t bytes) const {
  std::string out(bytes, '\0');
  std::size_t have = 0;
  while (have < bytes && file_) {
    const auto got = sys::read_at(file_, out.data() + have, bytes - have, from + static_cast<std::int64_t>(have));
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
  }
  out.resize(have);
  return out;
}

log_chunk output_log::read(std::int64_t offset, std::size_t max_bytes, reading how) const {
  log_chunk out;
  const std::int64_t kept_end = rule_ == retain_rule::head ? head_end_ : total_;
  std::int64_t from = std::max(offset, std::min(first(), total_));
  if (from >= kept_end && from < total_) from = total_;
  const auto wanted =
      std::min<std::int64_t>(static_cast<std::int64_t>(max_bytes), std::max<std::int64_t>(0, kept_end - from));
  if (wanted > 0) out.data = load(from, static_cast<std::size_t>(wanted));
  if (how == reading::text) {
    // What was cut off in front may have taken the beginning of a character with it.
    const std::size_t broken = from > offset ? broken_head(out.data) : 0;
    if (broken > 0 && sys::check_utf8(std::string_view(out.data).substr(broken)).is_text(out.data.size() - broken)) {
      out.data.erase(0, broken);
      from += static_cast<std::int64_t>(broken);
    }
    const auto check = sys::check_utf8(out.data);
    const bool more_may_come = !finished_ || from + static_cast<std::int64_t>(out.data.size()) < kept_end;
    if (more_may_come && check.incomplete_tail > 0 && check.is_text(out.data.size()))
      out.data.resize(check.valid_bytes);
  }
  out.offset = from;
  out.lost_bytes = from - offset;
  out.next_offset = from + static_cast<std::int64_t>(out.data.size());
  out.at_end = finished_ && out.next_offset >= total_;
  return out;
}

}  // namespace sbx::process
