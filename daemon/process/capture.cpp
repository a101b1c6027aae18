#include "daemon/process/capture.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>

#include "daemon/sys/utf8.hpp"

namespace sbx::process {

namespace {

constexpr std::size_t chunk_bytes = 65536;
constexpr int chunks_at_once = 4;

template <class Take>
drained drain_into(sys::fd_ref source, std::size_t& bytes, Take take) {
  std::array<char, chunk_bytes> chunk;
  for (int round = 0; round < chunks_at_once; ++round) {
    const ssize_t got = ::read(source.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return drained::empty;
    if (got <= 0) return drained::ended;  // EIO is a terminal's end
    bytes += static_cast<std::size_t>(got);
    take(std::string_view(chunk.data(), static_cast<std::size_t>(got)));
  }
  return drained::more;
}

// How many bytes at the front continue a character that began before.
std::size_t broken_head(std::string_view bytes) {
  std::size_t count = 0;
  while (count < 3 && count < bytes.size() && (static_cast<unsigned char>(bytes[count]) & 0xC0) == 0x80) ++count;
  return count;
}

}  // namespace

drained discarding_sink::drain(sys::fd_ref source, std::size_t& bytes) {
  return drain_into(source, bytes, [](std::string_view) {});
}

drained capture::drain(sys::fd_ref source, std::size_t& bytes) {
  return drain_into(source, bytes, [this](std::string_view chunk) { append(chunk); });
}

void capture::append(std::string_view bytes) {
  total_ += static_cast<std::int64_t>(bytes.size());
  if (head_.size() < head_max_) {
    const std::size_t first = std::min(bytes.size(), head_max_ - head_.size());
    head_.append(bytes.substr(0, first));
    bytes.remove_prefix(first);
  }
  if (bytes.size() > tail_max_) bytes.remove_prefix(bytes.size() - tail_max_);
  const std::size_t fresh = std::min(bytes.size(), tail_max_ - tail_.size());
  if (fresh > 0 && tail_at_ == 0) {
    tail_.append(bytes.substr(0, fresh));
    bytes.remove_prefix(fresh);
  }
  while (!bytes.empty()) {
    const std::size_t part = std::min(bytes.size(), tail_.size() - tail_at_);
    tail_.replace(tail_at_, part, bytes.substr(0, part));
    tail_at_ = (tail_at_ + part) % tail_.size();
    bytes.remove_prefix(part);
  }
}

captured capture::take() {
  return take(0);
}

captured capture::take(std::size_t left_out) {
  captured out;
  out.total_bytes = total_ - static_cast<std::int64_t>(left_out);
  std::string end = last();
  if (dropped() > 0) {
    // Neither part may begin or end within a character; what is not text is cut where it is.
    head_.resize(head_.size() - sys::check_utf8(head_).incomplete_tail);
    end.erase(0, broken_head(end));
    out.dropped_at = static_cast<std::int64_t>(head_.size());
  }
  out.data = std::move(head_) + end;
  out.data.resize(out.data.size() - std::min(left_out, out.data.size()));
  out.dropped_bytes = out.total_bytes - static_cast<std::int64_t>(out.data.size());
  *this = capture(head_max_ + tail_max_);
  return out;
}

captured capture::hand_over(output_log& log) {
  if (dropped() > 0) {
    log.skip(total_ - static_cast<std::int64_t>(tail_.size()));
    log.append(last());
  } else {
    log.append(head_);
    log.append(last());
  }
  const std::string end = dropped() > 0 ? last() : head_ + last();
  const auto check = sys::check_utf8(std::string_view(end).substr(dropped() > 0 ? broken_head(end) : 0));
  const std::size_t size = end.size() - (dropped() > 0 ? broken_head(end) : 0);
  return take(check.is_text(size) ? check.incomplete_tail : 0);
}

void capture::skip(std::int64_t bytes) {
  if (bytes == 0) return;
  // The gap comes after what the head holds now; what was kept behind it is dropped too.
  head_max_ = head_.size();
  tail_.clear();
  tail_at_ = 0;
  total_ += bytes;
}

void capture::pour_into(capture& later) {
  later.append(head_);
  later.skip(dropped());
  later.append(last());
  *this = capture(head_max_ + tail_max_);
}

}  // namespace sbx::process
