// Removing what is below a directory, by descriptors. Internal to daemon/fs.
#pragma once

#include "daemon/fs/call.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::fs {

// A directory that we own but may not enter or change: leave it, or give ourselves the permission first.
enum class locked_directories { fail, unlock };

// Everything in `top` (open for reading), not itself. Links are removed, never followed. 0, ECANCELED or an errno.
int remove_below(sys::unique_fd top, locked_directories locked, const call& how);

// A name of a directory, whatever it is. 0, ECANCELED or an errno.
int remove_name(sys::fd_ref directory, const char* name, locked_directories locked, const call& how);

}  // namespace sbx::fs
