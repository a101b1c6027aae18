#include "daemon/sys/memfd.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace sbx::sys {

namespace {

template <class Call>
std::int64_t retried(Call call) {
  for (;;) {
    const auto got = call();
    if (got >= 0 || errno != EINTR) return got;
  }
}

}  // namespace

result<unique_fd> open_memory_file(const char* name) {
  unique_fd made(::memfd_create(name, MFD_CLOEXEC));
  if (!made) return fail_system(errno, "making a file in memory");
  return made;
}

std::int64_t splice_at(fd_ref pipe, fd_ref file, std::int64_t offset, std::size_t bytes) {
  return retried([&] {
    off64_t at = offset;
    return ::splice(pipe.get(), nullptr, file.get(), &at, bytes, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
  });
}

std::int64_t write_at(fd_ref file, const char* from, std::size_t bytes, std::int64_t offset) {
  return retried([&] { return ::pwrite(file.get(), from, bytes, offset); });
}

std::int64_t read_at(fd_ref file, char* into, std::size_t bytes, std::int64_t offset) {
  return retried([&] { return ::pread(file.get(), into, bytes, offset); });
}

void punch_hole(fd_ref file, std::int64_t from, std::int64_t bytes) {
  ::fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, bytes);
}

}  // namespace sbx::sys
