#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "daemon/fs/errors.hpp"
#include "daemon/fs/etag.hpp"
#include "daemon/fs/file_io.hpp"
#include "daemon/fs/file_ops.hpp"
#include "daemon/fs/resolve.hpp"
#include "daemon/sys/utf8.hpp"

namespace sbx::fs {
namespace {

constexpr std::int64_t read_bytes_max = 4 << 20;
constexpr std::int64_t reactor_bytes_max = 64 * 1024;
constexpr std::size_t scan_bytes = 64 * 1024;

// A regular file, open for reading, as it was at one moment.
struct open_regular {
  sys::unique_fd fd;
  struct stat status {};
};

// True when what follows `offset` is nothing. Asked of the file itself: a size of 0 says nothing in procfs.
result<bool> at_end(const open_regular& file, std::int64_t offset, const std::string& path) {
  char byte = 0;
  const std::int64_t got = read_fully(file.fd, offset, &byte, 1);
  if (got < 0) return fail_at(static_cast<int>(-got), "reading", path);
  return got == 0;
}

// Where the first newline after `offset` ends a line: the offset behind it, or the end of the file.
struct line_scan {
  std::int64_t offset = 0;
  std::int64_t lines_passed = 0;
  bool eof = false;
};

// Passes `count` lines from `from`, at most up to `limit` (an offset).
result<line_scan> pass_lines(const open_regular& file, std::int64_t from, std::int64_t count, std::int64_t limit,
                             const std::string& path, const call& how) {
  std::vector<char> buffer(scan_bytes);
  line_scan scan;
  scan.offset = from;
  while (scan.lines_passed < count && scan.offset < limit) {
    if (how.stop.stopped()) return cancelled();
    const std::int64_t got = read_fully(file.fd, scan.offset, buffer.data(), buffer.size());
    if (got < 0) return fail_at(static_cast<int>(-got), "reading", path);
    const char* position = buffer.data();
    const char* end = position + got;
    while (scan.lines_passed < count && position < end) {
      const void* newline = std::memchr(position, '\n', static_cast<std::size_t>(end - position));
      position = newline ? static_cast<const char*>(newline) + 1 : end;
      if (newline) ++scan.lines_passed;
    }
    scan.offset += position - buffer.data();
    if (got < static_cast<std::int64_t>(buffer.size()) && position == end) {
      scan.eof = true;
      break;
    }
  }
  scan.offset = std::min(scan.offset, limit);
  return scan;
}

// Turns a line range into a byte range.
result<void> find_lines(const open_regular& file, const read_request& request, std::int64_t& offset,
                        std::int64_t& bytes, const call& how) {
  const line_range lines = *request.lines;
  auto begin = pass_lines(file, 0, lines.start - 1, INT64_MAX, request.path, how);
  if (!begin) return fail(std::move(begin.error()));
  offset = begin->offset;
  const std::int64_t limit = offset > INT64_MAX - bytes ? INT64_MAX : offset + bytes;
  auto end = pass_lines(file, offset, lines.count, limit, request.path, how);
  if (!end) return fail(std::move(end.error()));
  bytes = end->offset - offset;
  return {};
}

result<void> check_range(const read_request& request) {
  if (request.offset < 0) return invalid("/offset", "the offset is negative");
  if (request.max_bytes < 1) return invalid("/max_bytes", "max_bytes is at least 4");
  if (!request.lines) return {};
  if (request.lines->start < 1) return invalid("/lines/start", "lines are counted from 1");
  if (request.lines->count < 0) return invalid("/lines/count", "the count is negative");
  if (request.offset != 0) return invalid("/offset", "either lines or an offset");
  return {};
}

bool too_much_for_reactor(const open_regular& file, const read_request& request, std::int64_t bytes) {
  const std::int64_t size = file.status.st_size;
  if (request.lines || etag_needs_content(file.status)) return size > reactor_bytes_max;
  return std::min(bytes, size - request.offset) > reactor_bytes_max;
}

// Takes a cut character off the end of text, when more of it is to come.
void keep_characters_whole(std::string& data) {
  const sys::utf8_check check = sys::check_utf8(data);
  const bool text = check.is_text(data.size());
  if (text && check.valid_bytes > 0) data.resize(check.valid_bytes);
}

result<read_reply> read_open(const open_regular& file, const read_request& request, const call& how) {
  read_reply reply;
  std::int64_t bytes = std::min(request.max_bytes, read_bytes_max);
  if (how.on_reactor && too_much_for_reactor(file, request, bytes)) return needs_pool();
  reply.offset = request.offset;
  reply.size = file.status.st_size;
  reply.mtime_ns = mtime_ns(file.status);
  if (request.lines) {
    if (auto found = find_lines(file, request, reply.offset, bytes, how); !found) return fail(std::move(found.error()));
  }
  // Before the data: an etag may be older than what it comes with, never newer.
  const bool whole = reply.offset == 0 && bytes > file.status.st_size;
  if (!whole) reply.etag = etag_of(file.fd, file.status);
  if (bytes > 0) {
    const int failed = read_up_to(file.fd, reply.offset, bytes, reply.data);
    const bool beyond = failed == EINVAL && reply.offset >= reply.size;
    if (failed != 0 && !beyond) return fail_at(failed, "reading", request.path);
  }
  if (whole) reply.etag = make_etag(file.status, reply.data);
  const auto end = reply.offset + static_cast<std::int64_t>(reply.data.size());
  reply.eof = static_cast<std::int64_t>(reply.data.size()) < bytes && bytes > 0;
  if (!reply.eof) {
    auto ended = at_end(file, end, request.path);
    if (!ended) return fail(std::move(ended.error()));
    reply.eof = *ended;
  }
  if (!reply.eof && request.tail == tail_bytes::whole_characters) keep_characters_whole(reply.data);
  reply.next_offset = reply.offset + static_cast<std::int64_t>(reply.data.size());
  return reply;
}

}  // namespace

result<read_reply> read_file(const root_set& roots, const read_request& request, const call& how) {
  if (auto checked = check_range(request); !checked) return fail(std::move(checked.error()));
  const resolve_options options(last_link::follow, wants::object_alone, intent::look);
  auto found = resolve(roots, request.path, options, how);
  if (!found) return fail(std::move(found.error()));
  auto fd = reopen_file(*found, O_RDONLY, how);
  if (!fd) return fail(std::move(fd.error()));
  open_regular file;
  file.fd = std::move(*fd);
  if (::fstat(file.fd.get(), &file.status) != 0) return fail_at(errno, "looking at", request.path);
  return read_open(file, request, how);
}

}  // namespace sbx::fs
