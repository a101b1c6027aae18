#include "daemon/fs/tree_walk.hpp"

#include <algorithm>
#include <cerrno>

#include "daemon/fs/resolve.hpp"

namespace sbx::fs {
namespace {

// An entry is met under its name, and entered under its name with a slash: then all paths come out in order.
struct step {
  std::size_t entry = 0;
  bool into = false;
};

struct frame {
  std::vector<directory_entry> entries;
  std::vector<step> steps;
  std::vector<bool> skipped;
  std::size_t next = 0;
  std::size_t path_size = 0;  // of the directory's own path
};

int compare_steps(const frame& one, const step& left, const step& right) {
  const std::string &a = one.entries[left.entry].name, &b = one.entries[right.entry].name;
  const std::size_t common = std::min(a.size(), b.size());
  const int order = a.compare(0, common, b, 0, common);
  if (order != 0) return order;
  const auto at = [common](const std::string& name, bool into) {
    if (name.size() > common) return 1 + static_cast<int>(static_cast<unsigned char>(name[common]));
    return into ? 1 + int{'/'} : 0;
  };
  return at(a, left.into) - at(b, right.into);
}

int fill(frame& one, sys::fd_ref directory, const call& how) {
  const int failed = read_entries(directory, how, one.entries);
  for (std::size_t index = 0; index < one.entries.size(); ++index) {
    one.steps.push_back(step{index, false});
    if (one.entries[index].maybe_directory) one.steps.push_back(step{index, true});
  }
  one.skipped.resize(one.entries.size(), false);
  std::sort(one.steps.begin(), one.steps.end(),
            [&](const step& left, const step& right) { return compare_steps(one, left, right) < 0; });
  return failed == ECANCELED ? failed : 0;
}

class walk {
 public:
  walk(sys::unique_fd top, const walk_hooks& hooks, const call& how)
      : hooks_(hooks), how_(how), directories_(std::move(top)) {}

  int run() {
    int failed = begin_frame();
    while (failed == 0 && !frames_.empty() && !stopped_) {
      if (how_.stop.stopped()) return ECANCELED;
      frame& now = frames_.back();
      failed = now.next < now.steps.size() ? take(now, now.steps[now.next++]) : end_frame();
    }
    return failed;
  }

 private:
  int begin_frame() {
    frames_.emplace_back();
    frames_.back().path_size = path_.size();
    const int failed = fill(frames_.back(), directories_.current(), how_);
    if (failed == 0 && hooks_.entered) hooks_.entered(directories_.current(), path_);
    return failed;
  }

  int end_frame() {
    frames_.pop_back();
    if (hooks_.left) hooks_.left();
    return frames_.empty() ? 0 : directories_.leave();
  }

  int take(frame& now, const step& what) {
    const directory_entry& entry = now.entries[what.entry];
    path_.resize(now.path_size);
    path_ = joined(path_, entry.name);
    if (what.into) return now.skipped[what.entry] ? 0 : go_into(entry);
    const visit answer = hooks_.meet(met(directories_.current(), entry, path_, frames_.size() - 1));
    now.skipped[what.entry] = answer == visit::skip;
    stopped_ = answer == visit::stop;
    return 0;
  }

  int go_into(const directory_entry& entry) {
    const int failed = directories_.enter(entry.name.c_str());
    if (failed == EMFILE || failed == ENFILE || failed == ENOMEM) return failed;
    return failed != 0 ? 0 : begin_frame();
  }

  const walk_hooks& hooks_;
  const call& how_;
  directory_stack directories_;
  std::vector<frame> frames_;
  std::string path_;
  bool stopped_ = false;
};

}  // namespace

int walk_tree(sys::unique_fd top, const walk_hooks& hooks, const call& how) {
  return walk(std::move(top), hooks, how).run();
}

}  // namespace sbx::fs
