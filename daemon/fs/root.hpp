// The directories of a workspace, pinned. Every file operation starts from one of these descriptors.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/fs/policy.hpp"
#include "daemon/sys/error.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::fs {

// One root: an O_PATH descriptor of a directory, with the canonical path it had when it was opened.
struct root {
  root() = default;
  std::string path;                    // canonical
  std::shared_ptr<sys::unique_fd> fd;  // O_PATH | O_DIRECTORY
  dev_t device = 0;
  ino_t inode = 0;
  bool local = false;  // its own file system cannot hang
};

// A place below a root, after links. `relative` has no ".", "..", empty part or link in it; "" is the root itself.
struct location {
  location() = default;
  location(std::size_t root_index_, std::string relative_) : root_index(root_index_), relative(std::move(relative_)) {}
  std::size_t root_index = 0;
  std::string relative;
};

// The ordered roots of one workspace and the rules that hold in them. Unchanged after open, shared between threads.
class root_set {
 public:
  // Opens existing directories; blocks (run it in the pool). Errors: invalid_params (not absolute, NUL, none, one
  // inside another or twice), not_found, io ENOTDIR. Which directories may be roots at all is the caller's to judge, on
  // `path`.
  static result<root_set> open(const std::vector<std::string>& paths, policy rules = {});

  const std::vector<root>& roots() const { return roots_; }
  const root& at(std::size_t index) const { return roots_[index]; }
  const policy& rules() const { return *rules_; }
  bool local() const;  // all of them are

  // root_gone {root, remedy} when a root's path no longer leads to the pinned directory (deleted, moved, replaced).
  // One stat(2) a root; every file operation does it, and exec, job and pty do it before they start something.
  result<void> check_present() const;
  result<void> check_present(std::size_t index) const;  // of one root

  // As the contract returns paths: relative to the first root ("." for itself), absolute in the others.
  std::string returned_path(const location& where) const;
  // Always absolute, for authorizers and commands.
  std::string absolute_path(const location& where) const;

 private:
  std::vector<root> roots_;
  std::shared_ptr<const policy> rules_;
};

}  // namespace sbx::fs
