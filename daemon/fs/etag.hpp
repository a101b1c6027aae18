// Etags: what a file was, in a word. Internal to daemon/fs.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <string_view>

#include "daemon/sys/fd.hpp"

namespace sbx::fs {

// Files up to this size have their content in the etag while they are fresh (timestamps are too coarse then).
constexpr std::int64_t etag_content_bytes_max = 1 << 20;

// Whether the etag of a file in this state would hold its content.
bool etag_needs_content(const struct stat& status);

// `status` is from before the content was read. Without content (unreadable, or changed size) the plain form.
std::string make_etag(const struct stat& status, std::optional<std::string_view> content);

// As make_etag, reading the content from `readable` where it is needed.
std::string etag_of(sys::fd_ref readable, const struct stat& status);

// Compares in the form that `etag` was made in; anything that is no etag matches nothing.
bool etag_matches(std::string_view etag, sys::fd_ref readable, const struct stat& status);

}  // namespace sbx::fs
