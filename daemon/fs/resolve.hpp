// From a path of the contract to descriptors below the roots. Internal to daemon/fs: the only way in.
#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>

#include "daemon/fs/call.hpp"
#include "daemon/fs/file_ops.hpp"
#include "daemon/fs/root.hpp"
#include "daemon/sys/error.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::fs {

// What a path leads to. All descriptors are O_PATH, and were reached from a root by steps that cannot leave it.
struct place {
  place() = default;
  location where;
  std::string path;          // as the caller wrote it, for messages
  std::string name;          // last part of where.relative; "" for a root itself
  sys::unique_fd directory;  // that holds the name; none for a root itself, or when wants::object_alone
  sys::unique_fd object;     // none when it does not exist
  struct stat status {};     // of the object
  bool slash = false;        // the path insists on a directory ("a/", "a/.")

  bool exists() const { return static_cast<bool>(object); }
  bool is_root() const { return name.empty(); }
  bool is_directory() const { return exists() && S_ISDIR(status.st_mode); }
  bool is_regular() const { return exists() && S_ISREG(status.st_mode); }
};

enum class wants {
  object_alone,         // it must exist
  object,               // it must exist; place::directory is filled too
  name,                 // the last part may be missing, its parents not
  name_making_parents,  // missing parents are made
};

// What is going to be done: held against the rules of the profile.
enum class intent { look, change };

struct resolve_options {
  resolve_options(last_link last_, wants wanted_, intent purpose_) : last(last_), wanted(wanted_), purpose(purpose_) {}
  last_link last;
  wants wanted;
  intent purpose;
  bool empty_is_root = false;     // "" is the first root, else invalid_params
  const char* pointer = "/path";  // the parameter, for invalid_params
};

// Blocks, or with how.on_reactor fails with would_block. Errors: invalid_params, denied, root_gone, not_found, io.
result<place> resolve(const root_set& roots, const std::string& path, const resolve_options& options, const call& how);

// Makes a directory for the user (mode 0777 less how.umask) and opens it (O_PATH). Negated errno; -EEXIST.
int make_new_step(sys::fd_ref directory, const char* name, const call& how);
// The same, but one that is there already is opened. -ENOTDIR when something else has the name.
int make_step(sys::fd_ref directory, const char* name, const call& how);

// Reopens a regular file that was resolved; never blocks for long, never disturbs anything else than a file.
result<sys::unique_fd> reopen_file(const place& found, int flags, const call& how);

// "a/b" + "c".
std::string joined(std::string_view directory, std::string_view name);

}  // namespace sbx::fs
