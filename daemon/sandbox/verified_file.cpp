#include "daemon/sandbox/verified_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <vector>

#include "daemon/sys/sha256.hpp"

namespace sbx::sandbox {
namespace {

result<sys::unique_fd> open_regular(sys::fd_ref object, const std::string& name, struct stat& status) {
  if (::fstat(object.get(), &status) != 0) return fail_system(errno, "examining", name);
  if (!S_ISREG(status.st_mode)) return fail(error_kind::not_a_file, name + " has a sha256 but is no regular file");
  if (status.st_size > verified_bytes_max)
    return fail(error(error_kind::too_large, name + " is too large to be checked by its sha256")
                    .with("max", verified_bytes_max));
  const std::string self = "/proc/self/fd/" + std::to_string(object.get());
  sys::unique_fd file(::open(self.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file) return fail_system(errno, "opening", name);
  return file;
}

bool write_all(sys::fd_ref to, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(to.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

// The digest is that of the bytes written, whatever happens to the file meanwhile.
result<std::string> copy_hashing(sys::fd_ref from, sys::fd_ref to, const std::string& name) {
  sys::sha256 hash;
  std::vector<std::byte> buffer(256 * 1024);
  std::int64_t total = 0;
  for (;;) {
    const ssize_t length = ::read(from.get(), buffer.data(), buffer.size());
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return fail_system(errno, "reading", name);
    if (length == 0) return hash.hex();
    total += length;
    if (total > verified_bytes_max) return fail(error_kind::too_large, name + " grew while it was checked");
    const std::span<const std::byte> bytes(buffer.data(), static_cast<std::size_t>(length));
    hash.update(bytes);
    if (!write_all(to, bytes)) return fail_system(errno, "copying", name);
  }
}

}  // namespace

result<verified_file> copy_verified(sys::fd_ref object, const std::string& name, const std::string& sha256) {
  struct stat status {};
  auto file = open_regular(object, name, status);
  if (!file) return fail(std::move(file.error()));
  verified_file copy;
  copy.executable = (status.st_mode & 0111) != 0;
  copy.content = sys::unique_fd(::memfd_create("sbx-verified", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!copy.content) return fail_system(errno, "making a copy of", name);
  auto digest = copy_hashing(*file, copy.content, name);
  if (!digest) return fail(std::move(digest.error()));
  if (*digest != sha256)
    return fail(error(error_kind::sandbox_unavailable, name + " is not the file that was meant")
                    .with("cause", "the sha256 of " + name + " is " + *digest + ", not " + sha256)
                    .with("remedy", "check the file, then give its right sha256 in the mount")
                    .with("retryable", false));
  ::fcntl(copy.content.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
  ::lseek(copy.content.get(), 0, SEEK_SET);
  return copy;
}

}  // namespace sbx::sandbox
