#include "daemon/fs/walk_path.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "daemon/fs/errors.hpp"
#include "daemon/sys/beneath.hpp"

namespace sbx::fs {
namespace {

constexpr int links_max = 40;
// Descriptors of this many directories above are kept; what lies further up is opened again when ".." leads there.
constexpr std::size_t levels_open_max = 32;

struct level {
  std::string name;
  sys::unique_fd fd;
  dev_t device = 0;
  ino_t inode = 0;
};

class path_walk {
 public:
  path_walk(const root_set& roots, const resolve_options& options, const call& how, place found)
      : roots_(roots), options_(options), how_(how), found_(std::move(found)) {}

  result<place> run(std::size_t start, const std::string& rest) {
    if (auto begun = enter_root(start); !begun) return fail(std::move(begun.error()));
    push_parts(rest);
    while (!pending_.empty() && !done_) {
      if (how_.stop.stopped()) return cancelled();
      const std::string part = std::move(pending_.back());
      pending_.pop_back();
      auto stepped = take(part);
      if (!stepped) return fail(std::move(stepped.error()));
    }
    return done_ ? std::move(found_) : finish_at_top();
  }

 private:
  // A slash at the end insists on a directory, as "." does.
  void push_parts(const std::string& text) {
    std::vector<std::string> parts;
    std::size_t begin = 0;
    while (begin < text.size()) {
      const std::size_t slash = std::min(text.find('/', begin), text.size());
      if (slash > begin) parts.push_back(text.substr(begin, slash - begin));
      begin = slash + 1;
    }
    if (!text.empty() && text.back() == '/') parts.emplace_back(".");
    pending_.insert(pending_.end(), std::make_move_iterator(parts.rbegin()), std::make_move_iterator(parts.rend()));
  }

  result<void> enter_root(std::size_t index) {
    if (auto present = roots_.check_present(index); !present) return present;
    levels_.clear();
    relative_.clear();
    found_.where.root_index = index;
    return {};
  }

  sys::fd_ref top() const {
    return levels_.empty() ? sys::fd_ref(*roots_.at(found_.where.root_index).fd) : sys::fd_ref(levels_.back().fd);
  }

  bool is_last() const {
    return std::all_of(pending_.begin(), pending_.end(), [](const std::string& part) { return part == "."; });
  }

  bool forbidden(const std::string& relative) const {
    const policy& rules = roots_.rules();
    if (rules.empty() || relative.empty()) return false;
    return rules.denies(relative);
  }

  result<void> take(const std::string& part) {
    dotted_ = part == "." || part == "..";
    if (part == ".") return {};
    if (part == "..") return climb();
    const std::string here = joined(relative_, part);
    if (forbidden(here)) return denied_by_rule();
    int fd = sys::open_step(top(), part.c_str());
    if (fd == -ENOENT) {
      if (is_last()) return missing(part);
      if (options_.wanted != wants::name_making_parents) return fail_at(ENOENT, "opening", found_.path);
      if (roots_.rules().forbids_change(here)) return denied_by_rule();
      fd = make_step(top(), part.c_str(), how_);
    }
    if (fd < 0) return fail_at(-fd, "opening", found_.path);
    sys::unique_fd object(fd);
    struct stat status {};
    if (::fstat(object.get(), &status) != 0) return fail_at(errno, "looking at", found_.path);
    if (S_ISLNK(status.st_mode) && (options_.last == last_link::follow || !pending_.empty())) {
      return follow(object);
    }
    if (is_last() && !S_ISDIR(status.st_mode)) return leaf(part, std::move(object), status);
    if (!S_ISDIR(status.st_mode)) return fail_at(ENOTDIR, "opening", found_.path);
    descend(part, std::move(object), status);
    return {};
  }

  void descend(const std::string& part, sys::unique_fd object, const struct stat& status) {
    relative_ = joined(relative_, part);
    levels_.push_back(level{part, std::move(object), status.st_dev, status.st_ino});
    if (levels_.size() > levels_open_max) levels_[levels_.size() - 1 - levels_open_max].fd.reset();
  }

  // Up to the directory the walk came from: that very one, wherever it may have been moved to meanwhile.
  result<void> climb() {
    if (levels_.empty()) return denied_outside();
    const level last = std::move(levels_.back());
    levels_.pop_back();
    relative_.resize(relative_.size() > last.name.size() ? relative_.size() - last.name.size() - 1 : 0);
    return reopen_top(last.fd);
  }

  // The topmost level may have been closed: opens it again from the directory `below` it.
  result<void> reopen_top(const sys::unique_fd& below) {
    if (levels_.empty() || levels_.back().fd) return {};
    sys::unique_fd up(::openat(below.get(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
    struct stat status {};
    if (!up || ::fstat(up.get(), &status) != 0) return fail_at(errno, "opening", found_.path);
    if (status.st_dev != levels_.back().device || status.st_ino != levels_.back().inode) {
      return fail_at(EAGAIN, "opening", found_.path);
    }
    levels_.back().fd = std::move(up);
    return {};
  }

  result<void> follow(const sys::unique_fd& link) {
    auto text = sys::read_link(link);
    if (!text) return fail_at(text.error().number, "reading the link", found_.path);
    if (sys::is_magic_link(link, *text)) return denied_outside();
    if (++links_ > links_max) return fail_at(ELOOP, "opening", found_.path);
    if (text->empty()) return fail_at(ENOENT, "opening", found_.path);
    if (text->front() == '/') {
      root_match target;
      if (!match_root(roots_, *text, target)) return denied_outside();
      if (auto entered = enter_root(target.index); !entered) return entered;
      *text = target.rest;
    }
    push_parts(*text);
    return {};
  }

  result<void> missing(const std::string& part) {
    if (options_.wanted == wants::object_alone || options_.wanted == wants::object) {
      return fail_at(ENOENT, "opening", found_.path);
    }
    return leaf(part, sys::unique_fd(), {});
  }

  result<void> leaf(const std::string& part, sys::unique_fd object, const struct stat& status) {
    found_.slash = !pending_.empty();
    if (object && found_.slash) return fail_at(ENOTDIR, "opening", found_.path);
    found_.name = part;
    found_.object = std::move(object);
    found_.status = status;
    found_.directory = take_top();
    found_.where.relative = joined(relative_, part);
    done_ = true;
    return {};
  }

  sys::unique_fd take_top() {
    if (!levels_.empty()) return std::move(levels_.back().fd);
    return sys::unique_fd(::fcntl(top().get(), F_DUPFD_CLOEXEC, 3));
  }

  // The path ended at a directory: by its name, or by "." or "..".
  result<place> finish_at_top() {
    found_.slash = dotted_;
    found_.where.relative = relative_;
    if (levels_.empty()) {
      found_.object.reset(::fcntl(top().get(), F_DUPFD_CLOEXEC, 3));
    } else {
      found_.name = levels_.back().name;
      found_.object = std::move(levels_.back().fd);
      levels_.pop_back();
      if (auto reopened = reopen_top(found_.object); !reopened) return fail(std::move(reopened.error()));
      found_.directory = take_top();
    }
    if (!found_.object) return fail_at(errno, "opening", found_.path);
    if (::fstat(found_.object.get(), &found_.status) != 0) return fail_at(errno, "looking at", found_.path);
    return std::move(found_);
  }

  const root_set& roots_;
  const resolve_options& options_;
  const call& how_;
  place found_;
  std::vector<level> levels_;         // below the current root
  std::vector<std::string> pending_;  // parts still to take, the next one last
  std::string relative_;              // names of levels_, joined
  int links_ = 0;
  bool dotted_ = false;  // the last part taken names no entry of its own
  bool done_ = false;
};

}  // namespace

bool match_root(const root_set& roots, const std::string& absolute, root_match& found) {
  for (std::size_t index = 0; index < roots.roots().size(); ++index) {
    const std::string& base = roots.at(index).path;
    if (absolute.compare(0, base.size(), base) != 0) continue;
    if (absolute.size() > base.size() && absolute[base.size()] != '/') continue;
    found.index = index;
    found.rest = absolute.substr(base.size());
    return true;
  }
  return false;
}

result<place> walk_path(const root_set& roots, std::size_t start, const std::string& rest, place found,
                        const resolve_options& options, const call& how) {
  return path_walk(roots, options, how, std::move(found)).run(start, rest);
}

}  // namespace sbx::fs
