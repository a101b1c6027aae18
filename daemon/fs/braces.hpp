// Brace expansion, as a shell's: "a{b,c{d,e}}" is ab, acd, ace. Pure. Internal to daemon/fs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/sys/error.hpp"

namespace sbx::fs {

// A brace without a comma or without its end stands for itself; "\{" too (escapes stay in the outcome). limit {limit,
// max} beyond 1,000 texts or 64 KiB in all.
result<std::vector<std::string>> expand_braces(std::string_view text);

}  // namespace sbx::fs
