// .gitignore files, as git reads them. Internal to daemon/fs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/fs/pattern.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::fs {

// The rules of one .gitignore.
class ignore_file {
 public:
  static ignore_file parse(std::string_view text);
  enum class verdict { none, ignored, kept };
  // `path` is below the directory that holds the file. The last rule that matches decides.
  verdict judge(std::string_view path, bool directory) const;
  bool empty() const { return rules_.empty(); }

 private:
  struct rule {
    std::vector<segment> segments;
    bool kept = false, directories_only = false;
  };
  static bool parse_line(std::string_view line, rule& out);
  std::vector<rule> rules_;
};

// Those of the directories a walk is in: the deepest that has something to say decides.
class ignore_stack {
 public:
  // `path` of the directory, below the place where the stack begins.
  void enter(sys::fd_ref directory, const std::string& path);
  void leave() { files_.pop_back(); }
  bool ignores(const std::string& path, bool directory) const;

 private:
  struct level {
    std::size_t prefix = 0;  // bytes of a path that lead to this directory, slash included
    ignore_file rules;
  };
  std::vector<level> files_;
};

}  // namespace sbx::fs
