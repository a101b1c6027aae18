// Names of what clients hold: a prefix and 128 random bits.
#pragma once

#include <string>
#include <string_view>

#include "daemon/sys/error.hpp"

namespace sbx::workspace {

// "job-" + 32 lower-case hexadecimal digits. Blocks only while the kernel's generator is not seeded yet (at boot).
std::string make_handle(std::string_view prefix);

// The one answer for handles that are unknown and for those of others.
error no_such_handle(const std::string& handle);

}  // namespace sbx::workspace
