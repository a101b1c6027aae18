#include "daemon/sandbox/worktree.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>

#include "daemon/sandbox/paths.hpp"

namespace sbx::sandbox {
namespace {

namespace filesystem = std::filesystem;

struct opened {
  opened() = default;
  std::shared_ptr<sys::unique_fd> fd;  // O_PATH
  struct stat status {};
};

std::optional<opened> open_at(sys::fd_ref directory, const std::string& name) {
  opened object;
  object.fd =
      std::make_shared<sys::unique_fd>(::openat(directory.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!*object.fd || ::fstat(object.fd->get(), &object.status) != 0) return std::nullopt;
  return object;
}

// The first line of a small regular file, without its end.
std::optional<std::string> read_line_at(sys::fd_ref directory, const std::string& name, uid_t owner) {
  const auto object = open_at(directory, name);
  if (!object || !S_ISREG(object->status.st_mode) || object->status.st_uid != owner) return std::nullopt;
  const std::string self = "/proc/self/fd/" + std::to_string(object->fd->get());
  const sys::unique_fd file(::open(self.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(4096 + 64, '\0');
  const ssize_t length = file ? ::read(file.get(), text.data(), text.size()) : -1;
  if (length <= 0 || static_cast<std::size_t>(length) == text.size()) return std::nullopt;
  text.resize(static_cast<std::size_t>(length));
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  if (text.empty() || text.find_first_of(std::string_view("\n\0", 2)) != std::string::npos) return std::nullopt;
  return text;
}

std::string canonical_from(const std::string& base, const std::string& path) {
  std::error_code failed;
  const auto real = filesystem::canonical(filesystem::path(base) / path, failed);
  return failed ? std::string() : real.string();
}

// Opened by its canonical path, so that no component of it is a link.
std::optional<opened> open_directory(const std::string& canonical) {
  auto object = open_at(sys::fd_ref(AT_FDCWD), canonical);
  if (!object || !S_ISDIR(object->status.st_mode)) return std::nullopt;
  std::error_code failed;
  const auto real = filesystem::read_symlink("/proc/self/fd/" + std::to_string(object->fd->get()), failed);
  if (failed || real.string() != canonical) return std::nullopt;
  return object;
}

bool touches_a_root(const spec& wanted, const std::string& path) {
  return std::any_of(wanted.roots.begin(), wanted.roots.end(),
                     [&](const auto& root) { return is_within(path, root.path); });
}

class worktree_finder {
 public:
  worktree_finder(const spec& wanted, const root_spec& root) : wanted_(wanted), root_(root) {}

  std::vector<extra_bind> find() {
    if (!believe_git_file() || !believe_common_directory()) return {};
    add_object(extra_bind::kind::writable, common_path_, common_.fd);
    add_child(common_, common_path_, "config", extra_bind::kind::empty_file);
    add_child(common_, common_path_, "config.worktree", extra_bind::kind::empty_file);
    add_child(common_, common_path_, "hooks", extra_bind::kind::empty_directory);
    add_child(common_, common_path_, "info", extra_bind::kind::empty_directory);
    add_child(common_, common_path_, "modules", extra_bind::kind::empty_directory);
    add_child(common_, common_path_, "worktrees", extra_bind::kind::empty_directory);
    add_object(extra_bind::kind::writable, git_path_, git_.fd);
    add_child(git_, git_path_, "config.worktree", extra_bind::kind::empty_file);
    add_child(git_, git_path_, "commondir", extra_bind::kind::empty_file);
    add_child(git_, git_path_, "gitdir", extra_bind::kind::empty_file);
    if (odd_) return {};
    return std::move(binds_);
  }

 private:
  bool believe_git_file() {
    struct stat status {};
    if (::fstatat(root_.fd->get(), ".git", &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode)) return false;
    owner_ = status.st_uid;
    const auto line = read_line_at(*root_.fd, ".git", owner_);
    constexpr std::string_view prefix = "gitdir: ";
    if (!line || !line->starts_with(prefix)) return false;
    git_path_ = canonical_from(root_.path, line->substr(prefix.size()));
    if (git_path_.empty() || touches_a_root(wanted_, git_path_)) return false;
    auto directory = open_directory(git_path_);
    if (!directory || directory->status.st_uid != owner_) return false;
    git_ = std::move(*directory);
    return names_this_root_back();
  }

  bool names_this_root_back() const {
    const auto line = read_line_at(*git_.fd, "gitdir", owner_);
    if (!line) return false;
    const auto named = (filesystem::path(git_path_) / *line).lexically_normal();
    return named.filename() == ".git" && canonical_from(git_path_, named.parent_path().string()) == root_.path;
  }

  // git_path_ is COMMON/worktrees/NAME, and says so.
  bool believe_common_directory() {
    const filesystem::path worktrees = filesystem::path(git_path_).parent_path();
    if (worktrees.filename() != "worktrees") return false;
    common_path_ = worktrees.parent_path().string();
    const auto line = read_line_at(*git_.fd, "commondir", owner_);
    if (!line || canonical_from(git_path_, *line) != common_path_) return false;
    if (common_path_ == "/" || touches_a_root(wanted_, common_path_)) return false;
    auto directory = open_directory(common_path_);
    if (!directory || directory->status.st_uid != owner_) return false;
    common_ = std::move(*directory);
    const auto is_directory = [&](const char* name) {
      const auto child = open_at(*common_.fd, name);
      return child && S_ISDIR(child->status.st_mode);
    };
    return is_directory("objects") && is_directory("refs") && open_at(*common_.fd, "HEAD");
  }

  void add_object(extra_bind::kind what, const std::string& path, std::shared_ptr<sys::unique_fd> fd) {
    extra_bind bind;
    bind.what = what;
    bind.path = path;
    bind.fd = std::move(fd);
    binds_.push_back(std::move(bind));
  }

  // A protected entry: itself read-only, or the stand-in where there is none. A link could be replaced from inside, for
  // a mount covers only what it points to; such a repository is left out whole.
  void add_child(const opened& directory, const std::string& path, const std::string& name, extra_bind::kind stand_in) {
    const auto child = open_at(*directory.fd, name);
    if (!child) return add_object(stand_in, path + "/" + name, nullptr);
    const bool fits =
        stand_in == extra_bind::kind::empty_file ? S_ISREG(child->status.st_mode) : S_ISDIR(child->status.st_mode);
    if (!fits) odd_ = true;
    add_object(extra_bind::kind::read_only, path + "/" + name, child->fd);
  }

  const spec& wanted_;
  const root_spec& root_;
  uid_t owner_ = 0;
  std::string git_path_, common_path_;
  opened git_, common_;
  std::vector<extra_bind> binds_;
  bool odd_ = false;
};

}  // namespace

std::vector<extra_bind> find_worktree_binds(const spec& wanted) {
  std::vector<extra_bind> all;
  for (const auto& root : wanted.roots)
    for (auto& bind : worktree_finder(wanted, root).find()) {
      const auto same =
          std::find_if(all.begin(), all.end(), [&](const auto& other) { return other.path == bind.path; });
      if (same == all.end()) all.push_back(std::move(bind));
    }
  return all;
}

}  // namespace sbx::sandbox
