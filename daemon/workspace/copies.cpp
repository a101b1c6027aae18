#include "daemon/workspace/copies.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "daemon/fs/copy_tree.hpp"
#include "daemon/sys/fd.hpp"
#include "daemon/workspace/handle_id.hpp"

namespace sbx::workspace {

namespace {

result<sys::unique_fd> open_directory(const std::string& path) {
  sys::unique_fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return fail_system(errno, "opening", path);
  return fd;
}

}  // namespace

owned_copy::~owned_copy() {
  (void)remove();
}

result<void> owned_copy::remove() {
  if (kept_) return {};
  auto directory = open_directory(path_);
  if (!directory) {
    if (directory.error().kind == error_kind::not_found) kept_ = true;
    return fail(directory.error());
  }
  if (auto emptied = fs::remove_contents(*directory, fs::call()); !emptied) return emptied;
  if (::rmdir(path_.c_str()) != 0) return fail_system(errno, "removing", path_);
  kept_ = true;
  return {};
}

result<std::shared_ptr<owned_copy>> make_copy(const std::string& source, const std::string& copies,
                                              const fs::call& how) {
  std::error_code failed;
  std::filesystem::create_directories(copies, failed);
  if (failed) return fail_system(failed.value(), "making", copies);
  auto from = open_directory(source);
  if (!from) return fail(from.error());
  struct stat info {};
  if (::fstat(from->get(), &info) != 0) return fail_system(errno, "looking at", source);
  const std::string path = copies + "/" + make_handle("");
  if (::mkdir(path.c_str(), 0700) != 0) return fail_system(errno, "making", path);
  auto copy = std::make_shared<owned_copy>(path);
  auto to = open_directory(path);
  if (!to) return fail(to.error());
  if (auto copied = fs::copy_tree(*from, *to, how); !copied) return fail(copied.error());
  if (::fchown(to->get(), info.st_uid, info.st_gid) != 0 && errno != EPERM) return fail_system(errno, "owning", path);
  if (::fchmod(to->get(), info.st_mode & 07777) != 0) return fail_system(errno, "setting the mode of", path);
  return copy;
}

}  // namespace sbx::workspace
