#include "daemon/fs/rule_check.hpp"

#include <fcntl.h>

#include <cerrno>

#include "daemon/fs/errors.hpp"
#include "daemon/fs/tree_walk.hpp"
#include "daemon/sys/beneath.hpp"

namespace sbx::fs {

result<void> check_tree_rules(const root_set& roots, const place& object, intent purpose,
                              const std::optional<location>& new_place, const call& how) {
  const policy& rules = roots.rules();
  if (rules.empty()) return {};
  if (new_place && rules.forbids_change(new_place->relative)) return denied_by_rule();
  if (!object.is_directory()) return {};
  sys::unique_fd top(sys::reopen(object.object, O_RDONLY | O_DIRECTORY));
  if (!top) return fail_at(errno, "opening", object.path);
  bool forbidden = false;
  walk_hooks hooks;
  hooks.meet = [&](const met& one) {
    const std::string here = joined(object.where.relative, one.path);
    forbidden = purpose == intent::look ? rules.denies(here) : rules.forbids_change(here);
    if (new_place && !forbidden) forbidden = rules.forbids_change(joined(new_place->relative, one.path));
    return forbidden ? visit::stop : visit::go_on;
  };
  const int failed = walk_tree(std::move(top), hooks, how);
  if (forbidden) return denied_by_rule();
  if (failed == ECANCELED) return cancelled();
  if (failed != 0) return fail_at(failed, "looking at", object.path);
  return {};
}

}  // namespace sbx::fs
