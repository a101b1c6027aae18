// The copying of trees, with its choices. Internal to daemon/fs.
#pragma once

#include <sys/stat.h>

#include "daemon/fs/copy_tree.hpp"
#include "daemon/fs/file_ops.hpp"

namespace sbx::fs {

enum class keep { no, yes };
enum class special_files { refuse, skip };

struct copy_choices {
  copy_choices() = default;
  keep times = keep::no, owners = keep::no;
  special_files special = special_files::refuse;
};

// All in `source` into `target` (both open for reading). 0, ECANCELED, ENOTSUP (a special file, of type `refused`),
// errno.
int copy_below(sys::unique_fd source, sys::unique_fd target, const copy_choices& choices, const call& how,
               copy_report& report, file_type& refused);

// The original's mode; set-ID bits only when the copy has its owner: they would lend another one's rights.
mode_t mode_for_copy(sys::fd_ref copy, const struct stat& original);

}  // namespace sbx::fs
