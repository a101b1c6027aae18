#include "daemon/fs/watch_tree.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "daemon/fs/directory.hpp"
#include "daemon/fs/errors.hpp"
#include "daemon/fs/replace.hpp"
#include "daemon/sys/beneath.hpp"

namespace sbx::fs {
namespace {

constexpr std::size_t directories_max = 16'384;
constexpr std::size_t batch_events_max = 1'000;
constexpr std::size_t outgoing_max = 10'000;
constexpr std::size_t unread_bytes = 64 * 1024;
constexpr int directories_per_drain = 16;
constexpr std::uint32_t directory_mask = IN_CREATE | IN_DELETE | IN_MODIFY | IN_ATTRIB | IN_MOVED_FROM | IN_MOVED_TO |
                                         IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR | IN_EXCL_UNLINK;

tl::unexpected<error> limit_reached(const char* limit, std::int64_t most) {
  error e(error_kind::limit, "too many directories are watched");
  e.details.emplace_back("limit", std::string(limit));
  e.details.emplace_back("max", most);
  return fail(std::move(e));
}

std::uint64_t hash_of(std::string_view name) {
  return std::hash<std::string_view>()(name);
}

}  // namespace

watch_tree::watch_tree(std::shared_ptr<const root_set> roots, location base, sys::unique_fd inotify)
    : roots_(std::move(roots)), base_(std::move(base)), inotify_(std::move(inotify)) {}

result<void> watch_tree::begin(const place& directory, std::string file_name, bool recursive, const call& how) {
  file_name_ = std::move(file_name);
  recursive_ = recursive && file_name_.empty();
  if (!base_.relative.empty()) {
    if (auto watching = watch_root(directory); !watching) return watching;
  }
  pending_.emplace_back(base_.relative, telling::silent);
  while (!pending_.empty()) {
    if (how.stop.stopped()) return cancelled();
    const pending_directory next = std::move(pending_.front());
    pending_.pop_front();
    auto added = add(next, how);
    // Only the beginning must be there; what is below may go at any time.
    const bool fatal = !added && (next.relative == base_.relative || added.error().kind == error_kind::limit);
    if (fatal) return added;
  }
  return {};
}

// A root that is moved away takes what is watched below it along without a word.
result<void> watch_tree::watch_root(const place& directory) {
  const std::string path = sys::descriptor_path(*roots_->at(base_.root_index).fd);
  root_descriptor_ = ::inotify_add_watch(inotify_.get(), path.c_str(), IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR);
  if (root_descriptor_ < 0 && errno == ENOSPC) return limit_reached("inotify_watches", 0);
  if (root_descriptor_ < 0) return fail_at(errno, "watching", directory.path);
  return {};
}

result<void> watch_tree::add(const pending_directory& one, const call& how) {
  if (watched_.size() >= directories_max) return limit_reached("watched_directories", directories_max);
  const resolve_options options(last_link::keep, wants::object_alone, intent::look);
  auto found = resolve(*roots_, roots_->absolute_path(location(base_.root_index, one.relative)), options, how);
  if (!found) return fail(std::move(found.error()));
  if (!found->is_directory()) return fail_at(ENOTDIR, "watching", found->path);
  const std::string path = sys::descriptor_path(found->object);
  const int descriptor = ::inotify_add_watch(inotify_.get(), path.c_str(), directory_mask);
  if (descriptor < 0 && errno == ENOSPC)
    return limit_reached("inotify_watches", static_cast<std::int64_t>(watched_.size()));
  if (descriptor < 0) return fail_at(errno, "watching", found->path);
  if (const auto known = watched_.find(descriptor); known != watched_.end()) descriptors_.erase(known->second.relative);
  descriptors_[one.relative] = descriptor;
  watched& directory = watched_[descriptor];
  directory = watched();
  directory.relative = one.relative;
  // Watched first, read then: what comes in between is seen twice rather than never.
  for_each_entry(found->object, how, [&](const char* name, unsigned type) {
    if (is_hidden_temp_name(name)) return true;
    directory.names.insert(hash_of(name));
    const std::string relative = joined(one.relative, name);
    if (one.what == telling::as_created) tell(relative, change_kind::created);
    const bool maybe_directory = type == DT_DIR || type == DT_UNKNOWN;
    if (recursive_ && maybe_directory && pending_.size() < directories_max) pending_.emplace_back(relative, one.what);
    return true;
  });
  return {};
}

void watch_tree::forget_below(const std::string& relative) {
  auto next = descriptors_.lower_bound(relative);
  while (next != descriptors_.end() && next->first.compare(0, relative.size(), relative) == 0) {
    const bool below = next->first.size() == relative.size() || next->first[relative.size()] == '/';
    if (!below) {
      ++next;
      continue;
    }
    ::inotify_rm_watch(inotify_.get(), next->second);
    watched_.erase(next->second);
    next = descriptors_.erase(next);
  }
}

// After events were lost: all that is known may be wrong.
void watch_tree::rebuild() {
  overflow_ = true;
  for (const auto& [descriptor, directory] : watched_) ::inotify_rm_watch(inotify_.get(), descriptor);
  watched_.clear();
  descriptors_.clear();
  pending_.clear();
  pending_.emplace_back(base_.relative, telling::silent);
}

int watch_tree::fill_unread() {
  if (!unread_.empty()) return 0;
  unread_.resize(unread_bytes);
  const ssize_t got = ::read(inotify_.get(), unread_.data(), unread_.size());
  const int failed = got < 0 ? errno : 0;
  unread_.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return failed;
}

void watch_tree::take_events(const call& how) {
  (void)how;
  std::size_t position = 0;
  while (position < unread_.size() && outgoing_.size() < batch_events_max && !ended_) {
    inotify_event event{};
    std::memcpy(&event, unread_.data() + position, sizeof event);
    const char* name = unread_.data() + position + sizeof event;
    take(event, std::string_view(name, ::strnlen(name, event.len)));
    position += sizeof event + event.len;
  }
  unread_.erase(0, position);
}

void watch_tree::take(const inotify_event& event, std::string_view name) {
  if (event.mask & IN_Q_OVERFLOW) return rebuild();
  if (event.mask & IN_IGNORED) return;
  const auto known = watched_.find(event.wd);
  if (event.len == 0 || event.wd == root_descriptor_) return take_nameless(event.wd, event);
  if (known == watched_.end() || is_hidden_temp_name(name)) return;
  if (!file_name_.empty() && name != file_name_) return;
  take_named(known->second, event, std::string(name));
}

void watch_tree::take_named(watched& directory, const inotify_event& event, const std::string& name) {
  const std::string relative = joined(directory.relative, name);
  const bool is_directory = (event.mask & IN_ISDIR) != 0;
  if (event.mask & (IN_CREATE | IN_MOVED_TO)) {
    const bool fresh = directory.names.insert(hash_of(name)).second;
    tell(relative, fresh ? change_kind::created : change_kind::changed);
    // In a new directory there may be something already.
    const bool known = descriptors_.count(relative) != 0;
    if (is_directory && recursive_ && !known) pending_.emplace_back(relative, telling::as_created);
  } else if (event.mask & (IN_DELETE | IN_MOVED_FROM)) {
    directory.names.erase(hash_of(name));
    tell(relative, change_kind::removed);
    if (is_directory && recursive_) forget_below(relative);
  } else if (event.mask & (IN_MODIFY | IN_ATTRIB)) {
    tell(relative, change_kind::changed);
  }
}

void watch_tree::take_nameless(int descriptor, const inotify_event& event) {
  const auto base = descriptors_.find(base_.relative);
  const bool is_base = descriptor == root_descriptor_ || (base != descriptors_.end() && base->second == descriptor);
  if (!is_base) return;
  if (event.mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT)) return end_with(joined(base_.relative, file_name_));
  if ((event.mask & IN_ATTRIB) && file_name_.empty() && descriptor != root_descriptor_) {
    tell(base_.relative, change_kind::changed);
  }
}

void watch_tree::end_with(const std::string& relative) {
  tell(relative, change_kind::removed);
  ended_ = true;
  pending_.clear();
  unread_.clear();
}

void watch_tree::tell(const std::string& relative, change_kind kind) {
  const policy& rules = roots_->rules();
  if (!rules.empty() && rules.denies(relative)) return;
  if (outgoing_.size() >= outgoing_max) {
    overflow_ = true;
    return;
  }
  outgoing_.emplace_back(roots_->returned_path(location(base_.root_index, relative)), kind);
}

change_batch watch_tree::drain(const call& how) {
  for (int count = 0; count < directories_per_drain && !pending_.empty() && !ended_; ++count) {
    const pending_directory next = std::move(pending_.front());
    pending_.pop_front();
    auto added = add(next, how);
    if (added || added.error().kind == error_kind::denied) continue;
    if (added.error().kind == error_kind::limit) overflow_ = true;
    if (next.relative == base_.relative) end_with(joined(base_.relative, file_name_));
  }
  if (pending_.empty() && outgoing_.size() < batch_events_max && !ended_) {
    fill_unread();
    take_events(how);
  }
  change_batch batch;
  std::map<std::string, change_kind> last;
  while (!outgoing_.empty() && batch.events.size() < batch_events_max) {
    change next = std::move(outgoing_.front());
    outgoing_.pop_front();
    const auto [known, fresh] = last.emplace(next.path, next.kind);
    if (!fresh && known->second == next.kind) continue;
    known->second = next.kind;
    batch.events.push_back(std::move(next));
  }
  batch.overflow = std::exchange(overflow_, false);
  batch.ended = ended_ && outgoing_.empty();
  return batch;
}

}  // namespace sbx::fs
