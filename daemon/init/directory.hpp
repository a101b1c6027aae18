// Entering a command's working directory without leaving the workspace's roots.
#pragma once

#include <cstdint>

#include "daemon/sys/init_wire.hpp"

namespace sbx::init {

namespace wire = sys::init_wire;

struct entered {
  int error;  // 0: this process's directory is it now
  wire::reason reason;
};

// `path` is absolute and begins with one of the canonical roots, else it is cwd_outside. Links are followed as long as
// every step stays inside the roots; an absolute link counts as an absolute path. Without roots it may be anywhere.
entered enter_directory(const char* path, const char* const* roots, std::uint32_t root_count);

}  // namespace sbx::init
