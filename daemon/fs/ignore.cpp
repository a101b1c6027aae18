#include "daemon/fs/ignore.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include "daemon/fs/file_io.hpp"
#include "daemon/sys/beneath.hpp"

namespace sbx::fs {
namespace {

constexpr std::int64_t file_bytes_max = 1 << 20;

// Spaces at the end don't count unless escaped.
std::string_view trimmed(std::string_view line) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  while (!line.empty() && line.back() == ' ') {
    if (line.size() >= 2 && line[line.size() - 2] == '\\') break;
    line.remove_suffix(1);
  }
  return line;
}

// A regular file of that name, read without disturbing whatever else may have it.
std::string read_rules(sys::fd_ref directory) {
  const sys::unique_fd object(sys::open_step(directory, ".gitignore"));
  struct stat status {};
  if (!object || ::fstat(object.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  const sys::unique_fd file(sys::reopen(object, O_RDONLY));
  std::string text;
  if (!file || read_up_to(file, 0, file_bytes_max, text) != 0) return {};
  return text;
}

}  // namespace

bool ignore_file::parse_line(std::string_view line, rule& out) {
  line = trimmed(line);
  if (line.empty() || line.front() == '#') return false;
  if (line.front() == '!') {
    out.kept = true;
    line.remove_prefix(1);
  }
  if (!line.empty() && line.back() == '/') {
    out.directories_only = true;
    line.remove_suffix(1);
  }
  // A slash anywhere but at the end ties the rule to this directory.
  const bool tied = line.find('/') != std::string_view::npos;
  out.segments = split_segments(line);
  if (out.segments.empty()) return false;
  if (!tied) {
    segment any;
    any.what = segment::kind::any_depth;
    out.segments.insert(out.segments.begin(), any);
  }
  return true;
}

ignore_file ignore_file::parse(std::string_view text) {
  ignore_file file;
  if (text.substr(0, 3) == "\xef\xbb\xbf") text.remove_prefix(3);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    rule one;
    if (parse_line(text.substr(0, end), one)) file.rules_.push_back(std::move(one));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return file;
}

ignore_file::verdict ignore_file::judge(std::string_view path, bool directory) const {
  for (auto one = rules_.rbegin(); one != rules_.rend(); ++one) {
    if (one->directories_only && !directory) continue;
    if (matches_segments(one->segments, path, dot_names::matched)) return one->kept ? verdict::kept : verdict::ignored;
  }
  return verdict::none;
}

void ignore_stack::enter(sys::fd_ref directory, const std::string& path) {
  level next;
  next.prefix = path.empty() ? 0 : path.size() + 1;
  next.rules = ignore_file::parse(read_rules(directory));
  files_.push_back(std::move(next));
}

bool ignore_stack::ignores(const std::string& path, bool directory) const {
  for (auto one = files_.rbegin(); one != files_.rend(); ++one) {
    if (one->rules.empty()) continue;
    const auto said = one->rules.judge(std::string_view(path).substr(one->prefix), directory);
    if (said != ignore_file::verdict::none) return said == ignore_file::verdict::ignored;
  }
  return false;
}

}  // namespace sbx::fs
