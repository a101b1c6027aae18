// The file rules of a profile: globs over the path below its root, after links.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/fs/pattern.hpp"
#include "daemon/sys/error.hpp"

namespace sbx::fs {

// A rule that matches a directory holds for all that is beneath it. Wildcards match names with a leading dot too.
class policy {
 public:
  policy() = default;
  // invalid_params for a malformed glob, limit for an explosive one.
  static result<policy> compile(const std::vector<std::string>& deny, const std::vector<std::string>& read_only);

  bool empty() const { return deny_.empty() && read_only_.empty(); }
  bool denies(std::string_view relative) const;          // no method may touch or show it
  bool forbids_change(std::string_view relative) const;  // denied or read-only

 private:
  std::vector<pattern> deny_, read_only_;
};

}  // namespace sbx::fs
