#include <fcntl.h>

#include <cerrno>

#include "daemon/fs/errors.hpp"
#include "daemon/fs/etag.hpp"
#include "daemon/fs/file_ops.hpp"
#include "daemon/fs/resolve.hpp"
#include "daemon/sys/beneath.hpp"

namespace sbx::fs {
namespace {

constexpr std::int64_t reactor_bytes_max = 64 * 1024;

// A file that may not be read has none.
result<std::optional<std::string>> file_etag(const place& found, const call& how) {
  if (how.on_reactor && found.status.st_size > reactor_bytes_max && etag_needs_content(found.status))
    return needs_pool();
  auto readable = reopen_file(found, O_RDONLY, how);
  if (!readable && would_block(readable.error())) return fail(std::move(readable.error()));
  if (!readable) return std::optional<std::string>();
  return std::optional<std::string>(etag_of(*readable, found.status));
}

}  // namespace

result<file_status> stat_file(const root_set& roots, const std::string& path, last_link last, const call& how) {
  resolve_options options(last, wants::object_alone, intent::look);
  options.empty_is_root = true;
  auto found = resolve(roots, path, options, how);
  if (!found) return fail(std::move(found.error()));
  file_status status;
  status.type = type_of(found->status);
  status.size = found->status.st_size;
  status.mtime_ns = mtime_ns(found->status);
  status.mode = found->status.st_mode & 07777;
  status.uid = found->status.st_uid;
  status.gid = found->status.st_gid;
  status.nlink = static_cast<std::int64_t>(found->status.st_nlink);
  if (status.type == file_type::symlink) {
    auto target = sys::read_link(found->object);
    if (!target) return fail_at(target.error().number, "reading the link", path);
    status.target = std::move(*target);
  }
  if (status.type == file_type::file) {
    auto etag = file_etag(*found, how);
    if (!etag) return fail(std::move(etag.error()));
    status.etag = std::move(*etag);
  }
  return status;
}

}  // namespace sbx::fs
