// A file's content, checked against its SHA-256 and copied, so that neither another file at its path nor later writes
// into the same file can reach the sandbox.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "daemon/sys/error.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::sandbox {

constexpr std::int64_t verified_bytes_max = std::int64_t{512} << 20;

struct verified_file {
  verified_file() = default;
  sys::unique_fd content;  // a sealed memfd at offset 0
  bool executable = false;
};

// `object` is O_PATH. Blocks while it reads the file. Errors: not_a_file, too_large, sandbox_unavailable with the
// digest found, io.
result<verified_file> copy_verified(sys::fd_ref object, const std::string& name, const std::string& sha256);

}  // namespace sbx::sandbox
