// Git worktrees: what of a repository must be bound too, so that git works in a root whose .git is a file.
#pragma once

#include <string>
#include <vector>

#include "daemon/sandbox/bwrap_plan.hpp"
#include "daemon/sandbox/spec.hpp"

namespace sbx::sandbox {

// The git directories of those roots that are worktrees. A root's .git file is believed only when the git directory it
// names lies outside all roots, names this root's .git back, and all three have one owner: code inside a workspace can
// write .git, but not the other end. What does not fit adds nothing.
//
// The repository's common directory is writable, but for what the host's git would run or be led by: config,
// config.worktree, hooks, info, modules and the entries of the other worktrees. A few system calls a root.
std::vector<extra_bind> find_worktree_binds(const spec& wanted);

}  // namespace sbx::sandbox
