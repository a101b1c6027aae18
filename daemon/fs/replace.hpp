// Giving a name new content: atomically by rename where that is possible, in place where it is not. Internal to
// daemon/fs.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "daemon/fs/call.hpp"
#include "daemon/fs/resolve.hpp"
#include "daemon/fs/target_lock.hpp"

namespace sbx::fs {

// A file without a name (O_TMPFILE) in a directory, or with a hidden one where the file system has no such files. It is
// gone when this is destroyed, unless it was published.
class temp_file {
 public:
  // Negated errno in `failed` and no descriptor on failure. Mode 0600.
  static temp_file create(sys::fd_ref directory, int& failed);
  temp_file(temp_file&& other) noexcept;
  temp_file& operator=(temp_file&&) = delete;
  ~temp_file();

  sys::fd_ref fd() const { return fd_; }
  // Gives it the name: 0, -EEXIST when the name is taken, or another negated errno.
  int publish_new(const char* name);
  // Gives it the name in place of what has it.
  int publish_over(const char* name);

 private:
  explicit temp_file(sys::fd_ref directory) : directory_(directory) {}
  int link_hidden();
  sys::fd_ref directory_;  // the caller's, outlives this
  sys::unique_fd fd_;
  std::string hidden_name_;  // "" while it has none
};

// True for the hidden names above: watches leave them out.
bool is_hidden_temp_name(std::string_view name);
std::string new_hidden_temp_name();

// Writes the whole content to the descriptor, from its position on. 0 or an errno. May be called twice.
using content_writer = std::function<int(sys::fd_ref out)>;

struct replace_request {
  replace_request() = default;
  std::optional<mode_t> mode;  // else: as it was; new files 0666 less the umask
  bool only_new = false;       // conflict when the name is taken
  bool sync = false;
  std::int64_t bytes = 0;  // of the new content
  content_writer write;
};

// Replaces what `target` (resolved with wants::name, locked by the caller) is, a regular file or nothing; `status`
// tells what it is then. Failures leave the old content (conflict: somebody else made the name meanwhile).
result<struct stat> replace_content(const place& target, const replace_request& request, const call& how);

// A target that is held: resolved, regular or missing, its turn taken and looked at again since.
struct held_target {
  held_target(place found_, target_lock lock_) : found(std::move(found_)), lock(std::move(lock_)) {}
  place found;
  target_lock lock;
};
result<held_target> hold_target(const root_set& roots, const std::string& path, wants wanted, const call& how);

}  // namespace sbx::fs
