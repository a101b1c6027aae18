// Files in memory, written by offset.
#pragma once

#include <cstddef>
#include <cstdint>

#include "daemon/sys/error.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::sys {

// Close-on-exec; nobody can seal it. Error: io.
result<unique_fd> open_memory_file(const char* name);

// Each answers what the system call answers: a count, or -1 with errno. EINTR is seen to.

// From a pipe to the file's `offset`, without a copy through this process (splice(2)); EINVAL where `pipe` is none.
// EAGAIN when the pipe is empty, whatever its own flags.
std::int64_t splice_at(fd_ref pipe, fd_ref file, std::int64_t offset, std::size_t bytes);
std::int64_t write_at(fd_ref file, const char* from, std::size_t bytes, std::int64_t offset);
std::int64_t read_at(fd_ref file, char* into, std::size_t bytes, std::int64_t offset);

// Gives the memory of this range back; it reads as zeros then. Whole pages only: the caller aligns. Failure is
// harmless.
void punch_hole(fd_ref file, std::int64_t from, std::int64_t bytes);

}  // namespace sbx::sys
