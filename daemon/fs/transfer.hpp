// What remove, move and copy share. Internal to daemon/fs.
#pragma once

#include <string>

#include "daemon/fs/resolve.hpp"

namespace sbx::fs {

// A name itself, not what it may link to. denied for a root, io EINVAL for "a/.".
result<place> resolve_name(const root_set& roots, const std::string& path, wants wanted, intent purpose,
                           const char* pointer, const call& how);

enum class after_copy { leave_source, remove_source };

// Copies the object to the name (which may lie on another mount): whole or not at all, under a hidden name first.
// conflict when the name is taken and not to be overwritten; not_a_file for special files.
result<void> copy_object(const place& source, const place& target, bool overwrite, after_copy then, const call& how);

// Gives `from_name` in `from` the target's name. 0 or an errno; EEXIST when it is taken and not to be overwritten.
int rename_to(sys::fd_ref from, const char* from_name, const place& target, bool overwrite);

// The target is the source, or lies below it.
bool lies_within(const location& inner, const location& outer);

}  // namespace sbx::fs
