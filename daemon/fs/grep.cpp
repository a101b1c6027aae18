#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <optional>

#include "daemon/fs/directory.hpp"
#include "daemon/fs/errors.hpp"
#include "daemon/fs/file_ops.hpp"
#include "daemon/fs/grep_file.hpp"
#include "daemon/fs/ignore.hpp"
#include "daemon/fs/pattern.hpp"
#include "daemon/fs/search_start.hpp"
#include "daemon/fs/tree_walk.hpp"
#include "daemon/sys/beneath.hpp"

namespace sbx::fs {
namespace {

constexpr std::int64_t limit_max = 10'000;
constexpr std::int64_t context_max = 1000;
constexpr std::size_t reply_bytes_max = 8 << 20;

class grep_run {
 public:
  grep_run(const root_set& roots, const grep_request& request, const line_matcher& matcher,
           const std::optional<pattern>& names, const call& how)
      : roots_(roots), request_(request), matcher_(matcher), names_(names), how_(how) {
    sink_.limit = static_cast<std::size_t>(request.limit);
    sink_.bytes_max = reply_bytes_max;
    names_alone_ = request.glob && request.glob->find('/') == std::string::npos;
  }

  bool full() const { return full_; }

  int run(search_start start) {
    base_ = std::move(start.where);
    if (!start.directory) {
      search_object(start.file.object, base_.relative);
      return outcome_ == file_outcome::cancelled ? ECANCELED : 0;
    }
    ignored_ = ignore_stack();
    if (!request_.ignored) enter_above();
    walk_hooks hooks;
    hooks.meet = [this](const met& one) { return meet(one); };
    if (!request_.ignored) {
      hooks.entered = [this](sys::fd_ref directory, const std::string& path) {
        ignored_.enter(directory, joined(base_.relative, path));
      };
      hooks.left = [this] { ignored_.leave(); };
    }
    const int failed = walk_tree(std::move(start.directory), hooks, how_);
    return outcome_ == file_outcome::cancelled ? ECANCELED : failed;
  }

  grep_reply take() {
    grep_reply reply;
    reply.matches = std::move(sink_.matches);
    reply.truncated = full_;
    reply.skipped_binary = skipped_binary_;
    return reply;
  }

 private:
  // The .gitignore files between the root and where the search begins hold too.
  void enter_above() {
    sys::unique_fd directory(sys::reopen(*roots_.at(base_.root_index).fd, O_RDONLY | O_DIRECTORY));
    std::size_t end = 0;
    while (directory && end < base_.relative.size()) {
      const std::string path = base_.relative.substr(0, end);
      ignored_.enter(directory, path);
      const std::size_t begin = end == 0 ? 0 : end + 1;
      end = std::min(base_.relative.find('/', begin), base_.relative.size());
      const std::string name = base_.relative.substr(begin, end - begin);
      directory.reset(open_subdirectory(directory, name.c_str()));
    }
  }

  visit meet(const met& one) {
    const std::string& name = one.entry.name;
    if (!request_.hidden && name.front() == '.') return visit::skip;
    const std::string relative = joined(base_.relative, one.path);
    if (!roots_.rules().empty() && roots_.rules().denies(relative)) return visit::skip;
    const bool directory = one.entry.maybe_directory && !one.entry.surely_file;
    if (!request_.ignored && ignored_.ignores(relative, directory)) return visit::skip;
    if (directory && !maybe_file(one)) return visit::go_on;
    const std::string_view judged = names_alone_ ? std::string_view(name) : std::string_view(one.path);
    if (names_ && !names_->matches(judged, dot_names::matched)) return visit::skip;
    const sys::unique_fd object(sys::open_step(one.directory, name.c_str()));
    if (object) search_object(object, relative);
    return full_ || outcome_ == file_outcome::cancelled ? visit::stop : visit::skip;
  }

  // Where the file system does not say what its entries are.
  static bool maybe_file(const met& one) {
    struct stat status {};
    const int failed = ::fstatat(one.directory.get(), one.entry.name.c_str(), &status, AT_SYMLINK_NOFOLLOW);
    return failed != 0 || !S_ISDIR(status.st_mode);
  }

  void search_object(sys::fd_ref object, const std::string& relative) {
    struct stat status {};
    if (::fstat(object.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
    const sys::unique_fd file(sys::reopen(object, O_RDONLY));
    if (!file) return;
    const std::string path = roots_.returned_path(location(base_.root_index, relative));
    const auto context = static_cast<std::size_t>(request_.context);
    outcome_ = grep_file(file, matcher_, path, context, sink_, buffer_, how_);
    full_ = full_ || outcome_ == file_outcome::full;
    if (outcome_ == file_outcome::binary) ++skipped_binary_;
  }

  const root_set& roots_;
  const grep_request& request_;
  const line_matcher& matcher_;
  const std::optional<pattern>& names_;
  const call& how_;
  bool names_alone_ = false;  // the glob is about names, not paths
  location base_;
  ignore_stack ignored_;
  grep_sink sink_;
  std::vector<char> buffer_;
  file_outcome outcome_ = file_outcome::searched;
  bool full_ = false;
  std::int64_t skipped_binary_ = 0;
};

result<std::optional<pattern>> compile_glob(const grep_request& request) {
  if (!request.glob) return std::optional<pattern>();
  auto compiled = pattern::compile(*request.glob);
  if (!compiled && compiled.error().kind == error_kind::invalid_params)
    return invalid("/glob", compiled.error().message);
  if (!compiled) return fail(std::move(compiled.error()));
  return std::optional<pattern>(std::move(*compiled));
}

}  // namespace

result<grep_reply> grep(const root_set& roots, const grep_request& request, const call& how) {
  if (request.limit < 1 || request.limit > limit_max) return invalid("/limit", "the limit is from 1 to 10000");
  if (request.context < 0 || request.context > context_max) return invalid("/context", "the context is at most 1000");
  if (how.on_reactor) return needs_pool();
  auto matcher = line_matcher::compile(request);
  if (!matcher) return fail(std::move(matcher.error()));
  auto names = compile_glob(request);
  if (!names) return fail(std::move(names.error()));
  auto starts = search_starts(roots, request.path, how);
  if (!starts) return fail(std::move(starts.error()));
  grep_run run(roots, request, **matcher, *names, how);
  for (search_start& start : *starts) {
    if (run.full()) break;
    const int failed = run.run(std::move(start));
    if (failed == ECANCELED) return cancelled();
    if (failed != 0) return fail_at(failed, "searching", request.path.value_or("."));
  }
  return run.take();
}

}  // namespace sbx::fs
