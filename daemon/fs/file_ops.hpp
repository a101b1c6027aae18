// The file operations of the contract, section 6, as plain functions over values. All block (but see call::on_reactor)
// and are safe to run at the same time from any thread. Paths are bytes: relative to the first root, or absolute and
// beginning with a canonical root. Common errors: denied, not_found, root_gone, invalid_params (NUL, ""), io.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/fs/call.hpp"
#include "daemon/fs/root.hpp"
#include "daemon/sys/error.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::fs {

enum class file_type { file, directory, symlink, fifo, socket, device };
const char* name_of(file_type type);  // as on the wire

// ---- where a path leads ----

enum class last_link { follow, keep };

// After links, whether the last part exists or not (missing parents too: their names are taken as they are). For
// authorizers. denied when it leaves the roots or a rule denies it.
result<location> locate(const root_set& roots, const std::string& path, last_link last, const call& how);

// A directory for a command to start in: canonical absolute path, the same inside. `cwd` empty: the first root.
// denied (leaves the roots, a rule), not_found, io ENOTDIR.
struct start_directory {
  start_directory() = default;
  location where;
  std::string root, path;  // absolute; path begins with root
};
result<start_directory> resolve_start_directory(const root_set& roots, const std::string& cwd, const call& how);

// ---- read ----

struct line_range {
  line_range() = default;
  line_range(std::int64_t start_, std::int64_t count_) : start(start_), count(count_) {}
  std::int64_t start = 1, count = 0;  // start from 1
};

enum class tail_bytes { whole_characters, exact };

struct read_request {
  read_request() = default;
  std::string path;
  std::int64_t offset = 0;
  std::int64_t max_bytes = 1 << 20;                // at most 4 MiB is ever read
  std::optional<line_range> lines;                 // then offset is 0
  tail_bytes tail = tail_bytes::whole_characters;  // exact when the caller forces base64
};

struct read_reply {
  read_reply() = default;
  std::string data;
  std::int64_t size = 0, offset = 0, next_offset = 0;
  bool eof = false;
  std::string etag;
  std::int64_t mtime_ns = 0;
};

result<read_reply> read_file(const root_set& roots, const read_request& request, const call& how);

// ---- write and edit ----

struct write_request {
  write_request() = default;
  std::string path, data;
  std::optional<mode_t> mode;
  bool parents = true, append = false, if_absent = false, sync = false;
  std::optional<std::string> if_match;
};

struct write_reply {
  write_reply() = default;
  std::string path;  // as returned paths are, after links
  std::int64_t bytes = 0;
  std::string etag;
  bool created = false;
};

// conflict (if_match, if_absent), not_a_file {type}. A failure before the data is complete leaves the old content.
result<write_reply> write_file(const root_set& roots, const write_request& request, const call& how);

struct replacement {
  replacement() = default;
  replacement(std::string old_text_, std::string new_text_, bool all_)
      : old_text(std::move(old_text_)), new_text(std::move(new_text_)), all(all_) {}
  std::string old_text, new_text;
  bool all = false;
};

struct edit_request {
  edit_request() = default;
  std::string path;
  std::vector<replacement> edits;  // in order, each on the outcome of the one before; all or none
  std::optional<std::string> if_match;
};

struct edit_reply {
  edit_reply() = default;
  std::int64_t replacements = 0;
  std::string etag;
};

// edit_mismatch {count, lines}, too_large {max}, conflict, not_a_file.
result<edit_reply> edit_file(const root_set& roots, const edit_request& request, const call& how);

// ---- look ----

struct file_status {
  file_status() = default;
  file_type type = file_type::file;
  std::int64_t size = 0, mtime_ns = 0;
  mode_t mode = 0;  // permission bits, 07777
  uid_t uid = 0;
  gid_t gid = 0;
  std::int64_t nlink = 0;
  std::optional<std::string> target;  // of a symlink
  std::optional<std::string> etag;    // of a regular file that may be read
};

result<file_status> stat_file(const root_set& roots, const std::string& path, last_link last, const call& how);

struct list_request {
  list_request() = default;
  std::string path;  // "" is the first root
  std::int64_t limit = 1000;
  std::string cursor;  // "" from the beginning, else a reply's next_cursor (opaque; invalid_params when it is not one)
};

struct list_entry {
  list_entry() = default;
  std::string name;  // bytes
  file_type type = file_type::file;
  std::int64_t size = 0, mtime_ns = 0;
};

struct list_reply {
  list_reply() = default;
  std::vector<list_entry> entries;  // sorted by name, bytewise
  std::optional<std::string> next_cursor;
};

result<list_reply> list_directory(const root_set& roots, const list_request& request, const call& how);

// ---- search ----

struct glob_request {
  glob_request() = default;
  std::string pattern;
  std::optional<std::string> path;  // where to begin; absent: all roots
  bool hidden = false;
  std::int64_t limit = 1000;
};

struct glob_reply {
  glob_reply() = default;
  std::vector<std::string> paths;  // bytes, sorted
  bool truncated = false;
};

result<glob_reply> glob(const root_set& roots, const glob_request& request, const call& how);

struct grep_request {
  grep_request() = default;
  std::string pattern;  // RE2; invalid_params {path "/pattern"} when malformed
  std::optional<std::string> path, glob;
  bool hidden = false, ignored = true, ignore_case = false;
  std::int64_t context = 0;  // lines before and after, at most 1000
  std::int64_t limit = 1000;
};

struct grep_match {
  grep_match() = default;
  std::string path;
  std::int64_t line = 0, column = 0;  // both from 1; column in bytes
  std::string text;                   // without its line end; at most 64 KiB of it, around the match
  std::vector<std::string> before, after;
};

struct grep_reply {
  grep_reply() = default;
  std::vector<grep_match> matches;
  bool truncated = false;
  std::int64_t skipped_binary = 0;
};

result<grep_reply> grep(const root_set& roots, const grep_request& request, const call& how);

// ---- change the tree ----

struct mkdir_request {
  mkdir_request() = default;
  std::string path;
  bool parents = false;
};
result<void> make_directory(const root_set& roots, const mkdir_request& request, const call& how);

struct remove_request {
  remove_request() = default;
  std::string path;
  bool recursive = false;
};
result<void> remove_path(const root_set& roots, const remove_request& request, const call& how);

struct transfer_request {
  transfer_request() = default;
  std::string path, to;
  bool overwrite = false;
};
// conflict when the target exists. The last part of `path` is not followed: a link is moved or copied as a link.
result<void> move_path(const root_set& roots, const transfer_request& request, const call& how);
result<void> copy_path(const root_set& roots, const transfer_request& request, const call& how);

// ---- open ----

enum class open_mode { read, write, read_write, append };

struct open_request {
  open_request() = default;
  std::string path;
  open_mode mode = open_mode::read;
  bool create = false;
};
result<sys::unique_fd> open_file(const root_set& roots, const open_request& request, const call& how);

}  // namespace sbx::fs
