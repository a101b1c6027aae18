#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "daemon/fs/directory.hpp"
#include "daemon/fs/errors.hpp"
#include "daemon/fs/file_ops.hpp"
#include "daemon/fs/pattern.hpp"
#include "daemon/fs/search_start.hpp"
#include "daemon/fs/tree_walk.hpp"

namespace sbx::fs {
namespace {

constexpr std::int64_t limit_max = 10'000;
constexpr std::size_t reply_bytes_max = 8 << 20;

class glob_run {
 public:
  glob_run(const root_set& roots, const glob_request& request, const pattern& wanted, const call& how)
      : roots_(roots), wanted_(wanted), how_(how), limit_(static_cast<std::size_t>(request.limit)) {
    dots_ = request.hidden ? dot_names::matched : dot_names::skipped;
  }

  int run(search_start start) {
    base_ = std::move(start.where);
    found_here_ = 0;
    states_.clear();
    walk_hooks hooks;
    hooks.meet = [this](const met& one) { return meet(one); };
    hooks.entered = [this](sys::fd_ref, const std::string& path) { enter(path); };
    hooks.left = [this] { states_.pop_back(); };
    return walk_tree(std::move(start.directory), hooks, how_);
  }

  glob_reply take() {
    std::sort(paths_.begin(), paths_.end());
    glob_reply reply;
    reply.truncated = truncated_ || paths_.size() > limit_;
    paths_.resize(std::min(paths_.size(), limit_));
    reply.paths = std::move(paths_);
    return reply;
  }

 private:
  void enter(const std::string& path) {
    const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
    states_.push_back(states_.empty() ? wanted_.begin() : states_.back().after(name, dots_));
  }

  visit meet(const met& one) {
    const pattern::progress now = states_.back().after(one.entry.name, dots_);
    const bool goes_on = one.entry.maybe_directory && now.may_go_on();
    const bool candidate = now.matched() || (now.matched_as_directory() && one.entry.maybe_directory);
    if (!goes_on && !candidate) return visit::skip;
    const std::string relative = joined(base_.relative, one.path);
    if (!roots_.rules().empty() && roots_.rules().denies(relative)) return visit::skip;
    if (candidate && (now.matched() || is_directory(one))) {
      if (found_here_ == limit_ || bytes_ + relative.size() > reply_bytes_max) {
        truncated_ = true;
        return visit::stop;
      }
      paths_.push_back(roots_.returned_path(location(base_.root_index, relative)));
      bytes_ += paths_.back().size();
      ++found_here_;
    }
    return goes_on ? visit::go_on : visit::skip;
  }

  static bool is_directory(const met& one) {
    struct stat status {};
    const int failed = ::fstatat(one.directory.get(), one.entry.name.c_str(), &status, AT_SYMLINK_NOFOLLOW);
    return failed == 0 && S_ISDIR(status.st_mode);
  }

  const root_set& roots_;
  const pattern& wanted_;
  const call& how_;
  const std::size_t limit_;
  dot_names dots_ = dot_names::skipped;
  location base_;
  std::vector<pattern::progress> states_;  // of the directories the walk is in
  std::vector<std::string> paths_;
  std::size_t found_here_ = 0, bytes_ = 0;
  bool truncated_ = false;
};

}  // namespace

result<glob_reply> glob(const root_set& roots, const glob_request& request, const call& how) {
  if (request.limit < 1 || request.limit > limit_max) return invalid("/limit", "the limit is from 1 to 10000");
  if (how.on_reactor) return needs_pool();
  glob_request inner = request;
  if (auto taken = take_root_off(roots, inner.pattern, inner.path); !taken) return fail(std::move(taken.error()));
  auto wanted = pattern::compile(inner.pattern);
  if (!wanted) return fail(std::move(wanted.error()));
  auto starts = search_starts(roots, inner.path, how);
  if (!starts) return fail(std::move(starts.error()));
  glob_run run(roots, inner, *wanted, how);
  for (search_start& start : *starts) {
    if (!start.directory) return fail_at(ENOTDIR, "searching", *inner.path);
    const int failed = run.run(std::move(start));
    if (failed == ECANCELED) return cancelled();
    if (failed != 0) return fail_at(failed, "searching", inner.path.value_or("."));
  }
  return run.take();
}

}  // namespace sbx::fs
