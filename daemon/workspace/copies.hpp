// Private copies of directories, made for workspace.open's copy_of.
#pragma once

#include <memory>
#include <string>

#include "daemon/fs/call.hpp"
#include "daemon/sys/error.hpp"

namespace sbx::workspace {

// A copy on disk. Removes it when destroyed, unless kept: so a failed open leaves nothing.
class owned_copy {
 public:
  explicit owned_copy(std::string path) : path_(std::move(path)) {}
  ~owned_copy();
  owned_copy(const owned_copy&) = delete;
  owned_copy& operator=(const owned_copy&) = delete;

  const std::string& path() const { return path_; }
  void keep() { kept_ = true; }
  // Blocks. After a success the destructor does nothing; after a failure it tries again.
  result<void> remove();

 private:
  std::string path_;
  bool kept_ = false;
};

// Copies the directory into a new entry of `copies`, which is made when missing. Blocks.
result<std::shared_ptr<owned_copy>> make_copy(const std::string& source, const std::string& copies,
                                              const fs::call& how);

}  // namespace sbx::workspace
