#include "daemon/fs/file_io.hpp"

#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace sbx::fs {
namespace {

constexpr std::size_t chunk_bytes = 1 << 20;
constexpr std::size_t range_bytes = 16 << 20;

// What neither reflink nor copy_file_range can copy (procfs, FUSE, across old kernels' file systems).
int copy_by_hand(sys::fd_ref source, sys::fd_ref target, const call& how, std::int64_t& bytes) {
  std::vector<char> buffer(chunk_bytes);
  for (;;) {
    if (how.stop.stopped()) return ECANCELED;
    const std::int64_t got = read_fully(source, bytes, buffer.data(), buffer.size());
    if (got < 0) return static_cast<int>(-got);
    if (got == 0) return 0;
    const int failed = write_fully(target, std::string_view(buffer.data(), static_cast<std::size_t>(got)));
    if (failed != 0) return failed;
    bytes += got;
    if (how.progress) how.progress(bytes, 0);
  }
}

// The range from `begin` to `end` of both files. Returns 0, an errno, or -1: not to be had this way.
int copy_range(sys::fd_ref source, sys::fd_ref target, off_t begin, off_t end, const call& how, std::int64_t& bytes) {
  off_t from = begin, to = begin;
  while (from < end) {
    if (how.stop.stopped()) return ECANCELED;
    const auto wanted = std::min(static_cast<std::size_t>(end - from), range_bytes);
    const ssize_t copied = ::copy_file_range(source.get(), &from, target.get(), &to, wanted, 0);
    if (copied < 0 && errno == EINTR) continue;
    if (copied < 0) return errno == EXDEV || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP ? -1 : errno;
    if (copied == 0) return 0;  // it was cut meanwhile
    bytes = from;
    if (how.progress) how.progress(bytes, end);
  }
  return 0;
}

int copy_extents(sys::fd_ref source, sys::fd_ref target, off_t size, const call& how, std::int64_t& bytes) {
  off_t position = 0;
  while (position < size) {
    const off_t data = ::lseek(source.get(), position, SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;  // nothing but a hole
    if (data < 0) return -1;
    off_t hole = ::lseek(source.get(), data, SEEK_HOLE);
    if (hole < 0) hole = size;
    const int failed = copy_range(source, target, data, std::min(hole, size), how, bytes);
    if (failed != 0) return failed;
    position = hole;
  }
  bytes = size;
  return ::ftruncate(target.get(), size) == 0 ? 0 : errno;
}

}  // namespace

int read_up_to(sys::fd_ref file, std::int64_t offset, std::int64_t bytes_max, std::string& out) {
  // Grows with what is there: a size that was asked for alone costs no memory.
  out.clear();
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return errno;
  std::int64_t expected = std::clamp<std::int64_t>(status.st_size - offset + 1, 4096, bytes_max);
  while (static_cast<std::int64_t>(out.size()) < bytes_max) {
    const std::size_t have = out.size();
    const auto room = static_cast<std::size_t>(std::min(expected, bytes_max - static_cast<std::int64_t>(have)));
    out.resize(have + room);
    const std::int64_t got = read_fully(file, offset + static_cast<std::int64_t>(have), out.data() + have, room);
    out.resize(have + static_cast<std::size_t>(std::max<std::int64_t>(got, 0)));
    if (got < 0) return static_cast<int>(-got);
    if (static_cast<std::size_t>(got) < room) return 0;
    expected = std::max<std::int64_t>(expected, 65536);
  }
  return 0;
}

std::int64_t read_fully(sys::fd_ref file, std::int64_t offset, char* buffer, std::size_t size) {
  std::size_t have = 0;
  while (have < size) {
    const ssize_t got = ::pread(file.get(), buffer + have, size - have, offset + static_cast<std::int64_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -errno;
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  return static_cast<std::int64_t>(have);
}

int write_fully(sys::fd_ref file, std::string_view data, std::size_t* written) {
  std::size_t done = 0;
  int failed = 0;
  while (done < data.size() && failed == 0) {
    const ssize_t put = ::write(file.get(), data.data() + done, data.size() - done);
    if (put >= 0) done += static_cast<std::size_t>(put);
    if (put < 0 && errno != EINTR) failed = errno;
  }
  if (written) *written = done;
  return failed;
}

int copy_content(sys::fd_ref source, sys::fd_ref target, const call& how, std::int64_t& bytes) {
  bytes = 0;
  struct stat status {};
  if (::fstat(source.get(), &status) != 0) return errno;
  const off_t begin = ::lseek(target.get(), 0, SEEK_CUR);
  if (begin == 0 && status.st_size > 0) {
    if (::ioctl(target.get(), FICLONE, source.get()) == 0) {
      bytes = status.st_size;
      return 0;
    }
    const int failed = copy_extents(source, target, status.st_size, how, bytes);
    if (failed >= 0) return failed;
    if (::ftruncate(target.get(), 0) != 0) return errno;
    bytes = 0;
  }
  return copy_by_hand(source, target, how, bytes);
}

}  // namespace sbx::fs
