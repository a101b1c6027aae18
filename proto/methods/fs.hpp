// fs.*
#pragma once

#include "proto/types.hpp"

namespace sbx::proto {

struct path_params : workspace_params {
  path_params() = default;
  std::string path;
  void describe(visitor& v) {
    workspace_params::describe(v);
    v.path("path", path, "Absolute inside a root, or relative to the first.");
  }
};

struct line_range {
  line_range() = default;
  std::int64_t start = 1, count = 1;
  void describe(visitor& v) {
    v.req("start", start, "First line, counted from 1.", at_least(1));
    v.req("count", count, "How many.", at_least(0));
  }
};

struct fs_read_params : path_params {
  fs_read_params() = default;
  std::optional<std::int64_t> offset;
  std::int64_t max_bytes = one_mib;
  std::optional<line_range> lines;
  std::optional<proto::encoding> encoding;
  void describe(visitor& v) {
    path_params::describe(v);
    v.opt("offset", offset, "Where to begin (default 0).", at_least(0));
    v.opt("max_bytes", max_bytes, "At most so many.", max_bytes_limits);
    v.opt("lines", lines, "Whole lines instead of an offset.");
    v.at_most_one({"offset", "lines"});
    v.opt("encoding", encoding, "Forces the encoding of the answer's bytes.");
  }
};
struct fs_read_result {
  fs_read_result() = default;
  payload content;
  std::int64_t size = 0, offset = 0, next_offset = 0;
  bool eof = false;
  std::string etag, mtime;
  void describe(visitor& v) {
    v.data(content, "The bytes.");
    v.req("size", size, "Of the file.");
    v.req("offset", offset, "Where the bytes begin.");
    v.req("next_offset", next_offset, "Where the next read begins.");
    v.req("eof", eof, "This read reached the end.");
    v.req("etag", etag, "For if_match.");
    v.req("mtime", mtime, "In RFC 3339 UTC.");
  }
};

struct fs_write_params : path_params {
  fs_write_params() = default;
  payload content;
  std::optional<std::string> mode, if_match;
  bool parents = true, if_absent = false, append = false, sync = false;
  void describe(visitor& v) {
    path_params::describe(v);
    v.data(content, "What the file is to hold.");
    v.opt("mode", mode, "Octal, as \"0644\"; absent: as it was, or 0666 less the umask.",
          matching(is_octal_mode, "must be an octal mode such as \"0644\""));
    v.opt("parents", parents, "Makes missing directories.");
    v.opt("if_match", if_match, "Only when the file still has this etag, else conflict.");
    v.opt("if_absent", if_absent, "Only when there is no such file, else conflict.");
    v.opt("append", append, "Adds at the end instead.");
    v.opt("sync", sync, "On disk before the answer.");
    v.at_most_one({"if_match", "if_absent"});
  }
};
struct fs_write_result {
  fs_write_result() = default;
  std::string path, etag;
  std::int64_t bytes = 0;
  bool created = false;
  void describe(visitor& v) {
    v.file_name("path", path, "The file written.");
    v.req("bytes", bytes, "How many were written.");
    v.req("etag", etag, "Of the file as it is now.");
    v.req("created", created, "There was none before.");
  }
};

struct edit_entry {
  edit_entry() = default;
  any_bytes old_text, new_text;
  bool replace_all = false;
  void describe(visitor& v) {
    v.req("old", old_text, "Literal bytes that are there exactly once; not empty.");
    v.req("new", new_text, "What takes their place.");
    v.opt("replace_all", replace_all, "Every occurrence, at least one.");
  }
};
struct fs_edit_params : path_params {
  fs_edit_params() = default;
  std::optional<any_bytes> old_text, new_text;
  std::optional<bool> replace_all;
  std::optional<std::vector<edit_entry>> edits;
  std::optional<std::string> if_match;
  void describe(visitor& v) {
    path_params::describe(v);
    v.opt("old", old_text, "Literal bytes that are there exactly once; not empty.");
    v.opt("new", new_text, "What takes their place.");
    v.opt("replace_all", replace_all, "Every occurrence, at least one.");
    v.opt("edits", edits, "Several, applied in order, all or none.", items(1, 10'000));
    v.exactly_one({"old", "edits"});
    v.exactly_one({"new", "edits"});
    v.at_most_one({"replace_all", "edits"});
    v.opt("if_match", if_match, "Only when the file still has this etag, else conflict.");
  }
};
struct fs_edit_result {
  fs_edit_result() = default;
  std::int64_t replacements = 0;
  std::string etag;
  void describe(visitor& v) {
    v.req("replacements", replacements, "How many were made.");
    v.req("etag", etag, "Of the file as it is now.");
  }
};

enum class file_type { file, directory, symlink, fifo, socket, device };
template <>
struct words<file_type> {
  static constexpr std::string_view list[] = {"file", "directory", "symlink", "fifo", "socket", "device"};
};

struct fs_stat_params : path_params {
  fs_stat_params() = default;
  bool follow = true;
  void describe(visitor& v) {
    path_params::describe(v);
    v.opt("follow", follow, "A link's target instead of the link.");
  }
};
struct fs_stat_result {
  fs_stat_result() = default;
  file_type type = file_type::file;
  std::int64_t size = 0;
  std::string mode, mtime;
  std::int64_t mtime_ns = 0, uid = 0, gid = 0, nlink = 0;
  std::optional<std::string> target, etag;
  void describe(visitor& v) {
    v.req("type", type, "What it is.");
    v.req("size", size, "In bytes.");
    v.req("mode", mode, "Octal, as \"0644\".");
    v.req("mtime", mtime, "In RFC 3339 UTC.");
    v.req("mtime_ns", mtime_ns, "The same in nanoseconds since 1970.");
    v.req("uid", uid, "Owner.");
    v.req("gid", gid, "Group.");
    v.req("nlink", nlink, "Hard links.");
    v.file_name("target", target, "Of a link.");
    v.opt("etag", etag, "Of a regular file, for if_match.");
  }
};

struct fs_list_params : path_params {
  fs_list_params() = default;
  std::int64_t limit = 1000;
  std::optional<std::string> cursor;
  void describe(visitor& v) {
    path_params::describe(v);
    v.opt("limit", limit, "At most so many entries.", list_limit);
    v.opt("cursor", cursor, "next_cursor of the answer before.");
  }
};
struct dir_entry {
  dir_entry() = default;
  std::string name;
  file_type type = file_type::file;
  std::int64_t size = 0;
  std::string mtime;
  void describe(visitor& v) {
    v.file_name("name", name, "In this directory.");
    v.req("type", type, "What it is; links are not followed.");
    v.req("size", size, "In bytes.");
    v.req("mtime", mtime, "In RFC 3339 UTC.");
  }
};
struct fs_list_result {
  fs_list_result() = default;
  std::vector<dir_entry> entries;
  std::optional<std::string> next_cursor;
  void describe(visitor& v) {
    v.req("entries", entries, "Sorted by name.");
    v.req("next_cursor", next_cursor, "For the next call; null at the end.");
  }
};

struct fs_glob_params : workspace_params {
  fs_glob_params() = default;
  std::string pattern;
  std::optional<std::string> path;
  bool hidden = false;
  std::int64_t limit = 1000;
  void describe(visitor& v) {
    workspace_params::describe(v);
    v.req("pattern", pattern, "With * ? [] {a,b} and **.", c_text);
    v.path("path", path, "Where to begin; absent: all roots.");
    v.opt("hidden", hidden, "Wildcards match dot names.");
    v.opt("limit", limit, "At most so many paths.", list_limit);
  }
};
struct exact_path {
  exact_path() = default;
  std::int64_t index = 0;
  std::string path_base64;
  void describe(visitor& v) {
    v.req("index", index, "In paths.");
    v.req("path_base64", path_base64, "Its exact bytes.");
  }
};
// A list of paths: `names` are exact bytes; on the wire `paths` (lossy) and `exact` for those that are not UTF-8. The
// order of `names` is the answer's.
struct fs_glob_result {
  fs_glob_result() = default;
  std::vector<std::string> paths;  // not UTF-8: written lossy, so say it in `exact` too (see add)
  std::vector<exact_path> exact;
  bool truncated = false;
  // Adds a path by its exact bytes.
  void add(std::string bytes);
  void describe(visitor& v) {
    v.req("paths", paths, "Sorted.");
    v.req("exact", exact, "Exact bytes of those that are not UTF-8.");
    v.req("truncated", truncated, "There are more.");
  }
};

struct fs_grep_params : workspace_params {
  fs_grep_params() = default;
  std::string pattern;
  std::optional<std::string> path;
  std::optional<std::string> glob;
  bool hidden = false, ignored = true, ignore_case = false;
  std::int64_t context = 0, limit = 1000;
  void describe(visitor& v) {
    workspace_params::describe(v);
    v.req("pattern", pattern, "A regular expression in RE2's syntax.");
    v.path("path", path, "A file, or a directory to begin in; absent: all roots.");
    v.opt("glob", glob, "Only files that match.", c_text);
    v.opt("hidden", hidden, "Dot files too.");
    v.opt("ignored", ignored, "Files that .gitignore names too.");
    v.opt("ignore_case", ignore_case, "Upper and lower case alike.");
    v.opt("context", context, "Lines before and after each match.", between(0, 1000));
    v.opt("limit", limit, "At most so many matches.", list_limit);
  }
};
struct grep_match {
  grep_match() = default;
  std::string path;
  std::int64_t line = 0, column = 0;
  std::string text;
  std::vector<std::string> before, after;
  void describe(visitor& v) {
    v.file_name("path", path, "The file.");
    v.req("line", line, "Counted from 1.");
    v.req("column", column, "In bytes, counted from 1.");
    v.req("text", text, "The line.");
    v.req("before", before, "Lines before it.");
    v.req("after", after, "Lines after it.");
  }
};
struct fs_grep_result {
  fs_grep_result() = default;
  std::vector<grep_match> matches;
  bool truncated = false;
  std::int64_t skipped_binary = 0;
  void describe(visitor& v) {
    v.req("matches", matches, "Sorted by path and line.");
    v.req("truncated", truncated, "There are more.");
    v.req("skipped_binary", skipped_binary, "Files left out as binary.");
  }
};

struct fs_mkdir_params : path_params {
  fs_mkdir_params() = default;
  bool parents = false;
  void describe(visitor& v) {
    path_params::describe(v);
    v.opt("parents", parents, "Makes missing ones above too; existing is fine.");
  }
};
struct fs_remove_params : path_params {
  fs_remove_params() = default;
  bool recursive = false;
  void describe(visitor& v) {
    path_params::describe(v);
    v.opt("recursive", recursive, "With all that is in it.");
  }
};
struct fs_transfer_params : path_params {
  fs_transfer_params() = default;
  std::string to;
  bool overwrite = false;
  void describe(visitor& v) {
    path_params::describe(v);
    v.path("to", to, "Its new path.");
    v.opt("overwrite", overwrite, "Replaces what is there.");
  }
};

enum class open_flags { r, w, rw, a };
template <>
struct words<open_flags> {
  static constexpr std::string_view list[] = {"r", "w", "rw", "a"};
};
struct fs_open_params : path_params {
  fs_open_params() = default;
  open_flags flags = open_flags::r;
  bool create = false;
  void describe(visitor& v) {
    path_params::describe(v);
    v.opt("flags", flags, "Reading, writing (truncates), both, or appending.");
    v.opt("create", create, "Makes the file when there is none.");
  }
};
struct fs_open_result {
  fs_open_result() = default;
  std::int64_t fd = 0;
  void describe(visitor& v) { v.req("fd", fd, "Which of the descriptors that ride with the answer."); }
};

struct fs_watch_params : path_params {
  fs_watch_params() = default;
  bool recursive = false;
  void describe(visitor& v) {
    path_params::describe(v);
    v.opt("recursive", recursive, "All below it too.");
  }
};
struct fs_watch_result {
  fs_watch_result() = default;
  std::string watch;
  void describe(visitor& v) { v.req("watch", watch, "Its handle."); }
};
struct fs_unwatch_params : session_params {
  fs_unwatch_params() = default;
  std::string watch;
  void describe(visitor& v) {
    session_params::describe(v);
    v.req("watch", watch, "Its handle.");
  }
};

#define SBX_FS_METHOD(WORD, PARAMS, RESULT, SUMMARY)                         \
  struct fs_##WORD {                                                         \
    static constexpr std::string_view name = "fs." #WORD, summary = SUMMARY; \
    using params = PARAMS;                                                   \
    using result = RESULT;                                                   \
  };
SBX_FS_METHOD(read, fs_read_params, fs_read_result, "Reads a file, or a part of it.")
SBX_FS_METHOD(write, fs_write_params, fs_write_result, "Writes a whole file, or appends.")
SBX_FS_METHOD(edit, fs_edit_params, fs_edit_result, "Replaces literal text.")
SBX_FS_METHOD(stat, fs_stat_params, fs_stat_result, "What a path names.")
SBX_FS_METHOD(list, fs_list_params, fs_list_result, "Entries of a directory.")
SBX_FS_METHOD(glob, fs_glob_params, fs_glob_result, "Paths that match a pattern.")
SBX_FS_METHOD(grep, fs_grep_params, fs_grep_result, "Lines that match a regular expression.")
SBX_FS_METHOD(mkdir, fs_mkdir_params, nothing, "Makes a directory.")
SBX_FS_METHOD(remove, fs_remove_params, nothing, "Removes a file or directory.")
SBX_FS_METHOD(move, fs_transfer_params, nothing, "Renames or moves.")
SBX_FS_METHOD(copy, fs_transfer_params, nothing, "Copies a file or directory.")
SBX_FS_METHOD(open, fs_open_params, fs_open_result, "Hands out the open file itself.")
SBX_FS_METHOD(watch, fs_watch_params, fs_watch_result, "Tells this connection of changes.")
SBX_FS_METHOD(unwatch, fs_unwatch_params, nothing, "Ends a watch.")
#undef SBX_FS_METHOD

enum class change_event { created, changed, removed };
template <>
struct words<change_event> {
  static constexpr std::string_view list[] = {"created", "changed", "removed"};
};
struct fs_change {
  fs_change() = default;
  std::string path;
  change_event event = change_event::changed;
  void describe(visitor& v) {
    v.file_name("path", path, "What changed.");
    v.req("event", event, "How; a move is removed and created.");
  }
};
struct fs_changed_note {
  static constexpr std::string_view name = "fs.changed", summary = "Something under a watch changed.";
  fs_changed_note() = default;
  std::string watch;
  std::vector<fs_change> events;
  bool overflow = false;
  void describe(visitor& v) {
    v.req("watch", watch, "Its handle.");
    v.req("events", events, "What happened, in order.");
    v.req("overflow", overflow, "Events were lost: look for yourself.");
  }
};

}  // namespace sbx::proto
