#include "daemon/api/fs_convert.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <utility>

#include "proto/bytes.hpp"

namespace sbx::api {
namespace {

proto::file_type to_wire(fs::file_type type) { return static_cast<proto::file_type>(type); }

static_assert(static_cast<int>(fs::file_type::device) == static_cast<int>(proto::file_type::device));
static_assert(static_cast<int>(fs::file_type::symlink) == static_cast<int>(proto::file_type::symlink));
static_assert(static_cast<int>(fs::change_kind::removed) == static_cast<int>(proto::change_event::removed));
static_assert(static_cast<int>(fs::open_mode::append) == static_cast<int>(proto::open_flags::a));
static_assert(static_cast<int>(fs::open_mode::read_write) == static_cast<int>(proto::open_flags::rw));

std::string octal(mode_t mode) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "%04o", static_cast<unsigned>(mode & 07777));
  return text.data();
}

std::vector<std::string> as_text(std::vector<std::string> lines) {
  for (std::string& line : lines) line = proto::replace_invalid_utf8(line);
  return lines;
}

}  // namespace

std::string utc_time(std::int64_t nanoseconds_since_1970) {
  std::int64_t seconds = nanoseconds_since_1970 / 1'000'000'000, rest = nanoseconds_since_1970 % 1'000'000'000;
  if (rest < 0) {
    rest += 1'000'000'000;
    --seconds;
  }
  const std::time_t when = static_cast<std::time_t>(seconds);
  std::tm parts{};
  ::gmtime_r(&when, &parts);
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", parts.tm_year + 1900, parts.tm_mon + 1,
                parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, static_cast<int>(rest / 1'000'000));
  return text.data();
}

fs::read_request to_request(const proto::fs_read_params& params) {
  fs::read_request request;
  request.path = params.path;
  request.offset = params.offset.value_or(0);
  request.max_bytes = params.max_bytes;
  if (params.lines) request.lines = fs::line_range(params.lines->start, params.lines->count);
  if (params.encoding == proto::encoding::base64) request.tail = fs::tail_bytes::exact;
  return request;
}

fs::write_request to_request(proto::fs_write_params params) {
  fs::write_request request;
  request.path = std::move(params.path);
  request.data = std::move(params.content.bytes);
  if (params.mode) request.mode = static_cast<mode_t>(std::strtoul(params.mode->c_str(), nullptr, 8));
  request.if_match = std::move(params.if_match);
  request.parents = params.parents;
  request.append = params.append;
  request.if_absent = params.if_absent;
  request.sync = params.sync;
  return request;
}

fs::edit_request to_request(proto::fs_edit_params params) {
  fs::edit_request request;
  request.path = std::move(params.path);
  request.if_match = std::move(params.if_match);
  if (params.edits) {
    for (proto::edit_entry& edit : *params.edits) {
      request.edits.emplace_back(std::move(edit.old_text.value), std::move(edit.new_text.value), edit.replace_all);
    }
  } else if (params.old_text && params.new_text) {
    request.edits.emplace_back(std::move(params.old_text->value), std::move(params.new_text->value),
                               params.replace_all.value_or(false));
  }
  return request;
}

fs::list_request to_request(const proto::fs_list_params& params) {
  fs::list_request request;
  request.path = params.path;
  request.limit = params.limit;
  request.cursor = params.cursor.value_or(std::string());
  return request;
}

fs::glob_request to_request(const proto::fs_glob_params& params) {
  fs::glob_request request;
  request.pattern = params.pattern;
  request.path = params.path;
  request.hidden = params.hidden;
  request.limit = params.limit;
  return request;
}

fs::grep_request to_request(const proto::fs_grep_params& params) {
  fs::grep_request request;
  request.pattern = params.pattern;
  request.path = params.path;
  request.glob = params.glob;
  request.hidden = params.hidden;
  request.ignored = params.ignored;
  request.ignore_case = params.ignore_case;
  request.context = params.context;
  request.limit = params.limit;
  return request;
}

fs::mkdir_request to_request(const proto::fs_mkdir_params& params) {
  fs::mkdir_request request;
  request.path = params.path;
  request.parents = params.parents;
  return request;
}

fs::remove_request to_request(const proto::fs_remove_params& params) {
  fs::remove_request request;
  request.path = params.path;
  request.recursive = params.recursive;
  return request;
}

fs::transfer_request to_request(const proto::fs_transfer_params& params) {
  fs::transfer_request request;
  request.path = params.path;
  request.to = params.to;
  request.overwrite = params.overwrite;
  return request;
}

fs::open_request to_request(const proto::fs_open_params& params) {
  fs::open_request request;
  request.path = params.path;
  request.mode = static_cast<fs::open_mode>(params.flags);
  request.create = params.create;
  return request;
}

fs::watch_request to_request(const proto::fs_watch_params& params) {
  fs::watch_request request;
  request.path = params.path;
  request.recursive = params.recursive;
  return request;
}

proto::fs_read_result to_result(fs::read_reply reply, std::optional<proto::encoding> forced) {
  proto::fs_read_result result;
  result.content = proto::payload(std::move(reply.data), forced);
  result.size = reply.size;
  result.offset = reply.offset;
  result.next_offset = reply.next_offset;
  result.eof = reply.eof;
  result.etag = std::move(reply.etag);
  result.mtime = utc_time(reply.mtime_ns);
  return result;
}

proto::fs_write_result to_result(const fs::write_reply& reply) {
  proto::fs_write_result result;
  result.path = reply.path;
  result.etag = reply.etag;
  result.bytes = reply.bytes;
  result.created = reply.created;
  return result;
}

proto::fs_edit_result to_result(const fs::edit_reply& reply) {
  proto::fs_edit_result result;
  result.replacements = reply.replacements;
  result.etag = reply.etag;
  return result;
}

proto::fs_stat_result to_result(const fs::file_status& status) {
  proto::fs_stat_result result;
  result.type = to_wire(status.type);
  result.size = status.size;
  result.mode = octal(status.mode);
  result.mtime = utc_time(status.mtime_ns);
  result.mtime_ns = status.mtime_ns;
  result.uid = status.uid;
  result.gid = status.gid;
  result.nlink = status.nlink;
  result.target = status.target;
  result.etag = status.etag;
  return result;
}

proto::fs_list_result to_result(fs::list_reply reply) {
  proto::fs_list_result result;
  for (fs::list_entry& entry : reply.entries) {
    proto::dir_entry one;
    one.name = std::move(entry.name);
    one.type = to_wire(entry.type);
    one.size = entry.size;
    one.mtime = utc_time(entry.mtime_ns);
    result.entries.push_back(std::move(one));
  }
  result.next_cursor = std::move(reply.next_cursor);
  return result;
}

proto::fs_glob_result to_result(fs::glob_reply reply) {
  proto::fs_glob_result result;
  for (std::string& path : reply.paths) result.add(std::move(path));
  result.truncated = reply.truncated;
  return result;
}

proto::fs_grep_result to_result(fs::grep_reply reply) {
  proto::fs_grep_result result;
  for (fs::grep_match& match : reply.matches) {
    proto::grep_match one;
    one.path = std::move(match.path);
    one.line = match.line;
    one.column = match.column;
    one.text = proto::replace_invalid_utf8(match.text);
    one.before = as_text(std::move(match.before));
    one.after = as_text(std::move(match.after));
    result.matches.push_back(std::move(one));
  }
  result.truncated = reply.truncated;
  result.skipped_binary = reply.skipped_binary;
  return result;
}

proto::fs_changed_note to_note(const std::string& watch, fs::change_batch batch) {
  proto::fs_changed_note note;
  note.watch = watch;
  for (fs::change& change : batch.events) {
    proto::fs_change one;
    one.path = std::move(change.path);
    one.event = static_cast<proto::change_event>(change.kind);
    note.events.push_back(std::move(one));
  }
  note.overflow = batch.overflow;
  return note;
}

}  // namespace sbx::api
