// Finding and replacing literal bytes in something too large to hold. Internal to daemon/fs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sbx::fs {

// pread: how many bytes, fewer than asked only at the end; negated errno.
using byte_reader = std::function<std::int64_t(std::int64_t offset, char* buffer, std::size_t size)>;
// 0 or an errno.
using byte_writer = std::function<int(std::string_view bytes)>;

enum class matches_counted { overlapping, one_after_another };

struct match_report {
  match_report() = default;
  std::int64_t count = 0;
  std::vector<std::int64_t> offsets;  // of the first 10
  int failed = 0;                     // an errno; ECANCELED when `stopped` said so
};

// Counts `needle` (not empty) in all that `read` gives. Time linear in the content whatever the needle repeats; memory
// a few times the needle's.
match_report count_matches(const byte_reader& read, std::string_view needle, matches_counted how,
                           const std::function<bool()>& stopped);

// Writes everything, each of the matches (one after another) replaced by `replacement`. 0 or an errno.
int replace_matches(const byte_reader& read, std::string_view needle, std::string_view replacement,
                    const byte_writer& write, const std::function<bool()>& stopped);

// The lines (from 1) that the offsets (ascending) are on. 0 or an errno.
int lines_of(const byte_reader& read, const std::vector<std::int64_t>& offsets, std::vector<std::int64_t>& lines,
             const std::function<bool()>& stopped);

}  // namespace sbx::fs
