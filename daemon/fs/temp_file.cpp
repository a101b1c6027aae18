#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "daemon/fs/replace.hpp"
#include "daemon/sys/beneath.hpp"

namespace sbx::fs {
namespace {

constexpr std::string_view hidden_prefix = ".sbx-temp-";
constexpr std::size_t hidden_digits = 32;
constexpr int names_max = 8;

}  // namespace

std::string new_hidden_temp_name() {
  std::array<unsigned char, hidden_digits / 2> bytes{};
  for (std::size_t have = 0; have < bytes.size();) {
    const ssize_t got = ::getrandom(bytes.data() + have, bytes.size() - have, 0);
    if (got > 0) have += static_cast<std::size_t>(got);
  }
  std::string name(hidden_prefix);
  for (const unsigned char byte : bytes) {
    std::array<char, 3> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x", byte);
    name.append(digits.data());
  }
  return name;
}

bool is_hidden_temp_name(std::string_view name) {
  return name.size() == hidden_prefix.size() + hidden_digits && name.substr(0, hidden_prefix.size()) == hidden_prefix;
}

temp_file::temp_file(temp_file&& other) noexcept
    : directory_(other.directory_), fd_(std::move(other.fd_)), hidden_name_(std::move(other.hidden_name_)) {
  other.hidden_name_.clear();
}

temp_file::~temp_file() {
  if (!hidden_name_.empty()) ::unlinkat(directory_.get(), hidden_name_.c_str(), 0);
}

temp_file temp_file::create(sys::fd_ref directory, int& failed) {
  temp_file temp(directory);
  failed = 0;
  temp.fd_.reset(::openat(directory.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (temp.fd_) return temp;
  failed = -errno;
  if (failed != -EOPNOTSUPP && failed != -EISDIR && failed != -EINVAL && failed != -ENOENT) return temp;
  for (int attempt = 0; attempt < names_max; ++attempt) {
    const std::string name = new_hidden_temp_name();
    temp.fd_.reset(::openat(directory.get(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    failed = temp.fd_ ? 0 : -errno;
    if (temp.fd_) temp.hidden_name_ = name;
    if (failed != -EEXIST) break;
  }
  return temp;
}

int temp_file::publish_new(const char* name) {
  if (hidden_name_.empty()) {
    const std::string path = sys::descriptor_path(fd_);
    return ::linkat(AT_FDCWD, path.c_str(), directory_.get(), name, AT_SYMLINK_FOLLOW) == 0 ? 0 : -errno;
  }
  int failed = ::renameat2(directory_.get(), hidden_name_.c_str(), directory_.get(), name, RENAME_NOREPLACE);
  failed = failed == 0 ? 0 : -errno;
  if (failed == 0) hidden_name_.clear();
  if (failed != -EINVAL && failed != -ENOSYS) return failed;
  // A file system without RENAME_NOREPLACE: a second link is as exclusive.
  if (::linkat(directory_.get(), hidden_name_.c_str(), directory_.get(), name, 0) != 0) return -errno;
  return 0;
}

int temp_file::link_hidden() {
  const std::string path = sys::descriptor_path(fd_);
  int failed = -EEXIST;
  for (int attempt = 0; attempt < names_max && failed == -EEXIST; ++attempt) {
    hidden_name_ = new_hidden_temp_name();
    const int linked = ::linkat(AT_FDCWD, path.c_str(), directory_.get(), hidden_name_.c_str(), AT_SYMLINK_FOLLOW);
    failed = linked == 0 ? 0 : -errno;
  }
  if (failed != 0) hidden_name_.clear();
  return failed;
}

int temp_file::publish_over(const char* name) {
  if (hidden_name_.empty()) {
    if (const int failed = link_hidden(); failed != 0) return failed;
  }
  if (::renameat(directory_.get(), hidden_name_.c_str(), directory_.get(), name) != 0) return -errno;
  hidden_name_.clear();
  return 0;
}

}  // namespace sbx::fs
