// Searching one file, line by line as seen from outside. Internal to daemon/fs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/fs/call.hpp"
#include "daemon/fs/file_ops.hpp"
#include "daemon/sys/error.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::fs {

// A compiled expression; RE2 inside.
class line_matcher {
 public:
  // invalid_params {path "/pattern"} with RE2's own reason.
  static result<std::shared_ptr<const line_matcher>> compile(const grep_request& request);
  virtual ~line_matcher() = default;

  // The first match in `text` (whole lines) at or after `from`; none of them holds a line's end. `begin` is set.
  virtual bool find(std::string_view text, std::size_t from, std::size_t& begin) const = 0;
};

enum class file_outcome { searched, binary, full, unreadable, cancelled };

struct grep_sink {
  grep_sink() = default;
  std::size_t limit = 0;      // of matches, all files together
  std::size_t bytes_max = 0;  // of texts, likewise
  std::size_t bytes = 0;
  std::vector<grep_match> matches;
};

// Appends the matches of one file; its memory is that of a piece of it, whatever its size. `full` when the sink is:
// there is at least one more match than it took. A file with a NUL in it is binary: its matches are taken back.
file_outcome grep_file(sys::fd_ref file, const line_matcher& matcher, const std::string& path, std::size_t context,
                       grep_sink& sink, std::vector<char>& buffer, const call& how);

}  // namespace sbx::fs
