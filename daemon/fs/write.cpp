#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "daemon/fs/errors.hpp"
#include "daemon/fs/etag.hpp"
#include "daemon/fs/file_io.hpp"
#include "daemon/fs/file_ops.hpp"
#include "daemon/fs/replace.hpp"
#include "daemon/fs/resolve.hpp"
#include "daemon/sys/beneath.hpp"

namespace sbx::fs {
namespace {

constexpr std::size_t reactor_bytes_max = 64 * 1024;
constexpr int attempts_max = 16;

result<void> check_match(const place& target, const std::string& etag) {
  if (target.exists()) {
    const sys::unique_fd readable(sys::reopen(target.object, O_RDONLY));
    struct stat status {};
    if (readable && ::fstat(readable.get(), &status) == 0 && etag_matches(etag, readable, status)) return {};
  }
  return fail(error_kind::conflict, printable(target.path) + " has changed since");
}

// The etag of a file that was just written to.
std::string etag_now(const place& target, const struct stat& status) {
  const sys::unique_fd readable(sys::reopen(target.object, O_RDONLY));
  return readable ? etag_of(readable, status) : make_etag(status, std::nullopt);
}

result<struct stat> append_to(const place& target, const write_request& request, const call& how) {
  auto fd = reopen_file(target, O_WRONLY | O_APPEND, how);
  if (!fd) return fail(std::move(fd.error()));
  struct stat before {
  }, after{};
  if (::fstat(fd->get(), &before) != 0) return fail_at(errno, "looking at", request.path);
  const auto bytes = static_cast<off_t>(request.data.size());
  if (bytes > 0 && ::fallocate(fd->get(), FALLOC_FL_KEEP_SIZE, before.st_size, bytes) != 0 && errno != EOPNOTSUPP &&
      errno != ENOSYS) {
    return fail_at(errno, "writing", request.path);
  }
  std::size_t written = 0;
  if (const int failed = write_fully(*fd, request.data, &written); failed != 0) {
    // Takes its own part back, unless others have appended behind it.
    const off_t mine = before.st_size + static_cast<off_t>(written);
    if (::fstat(fd->get(), &after) == 0 && after.st_size == mine && ::ftruncate(fd->get(), before.st_size) != 0) {
      return fail_at(errno, "writing", request.path);
    }
    return fail_at(failed, "writing", request.path);
  }
  if (request.mode && ::fchmod(fd->get(), *request.mode) != 0) {
    return fail_at(errno, "changing the mode of", request.path);
  }
  if (request.sync && ::fsync(fd->get()) != 0) return fail_at(errno, "syncing", request.path);
  if (::fstat(fd->get(), &after) != 0) return fail_at(errno, "looking at", request.path);
  return after;
}

replace_request whole_content(const write_request& request) {
  replace_request wanted;
  wanted.mode = request.mode;
  wanted.only_new = request.if_absent;
  wanted.sync = request.sync;
  wanted.bytes = static_cast<std::int64_t>(request.data.size());
  wanted.write = [&request](sys::fd_ref out) { return write_fully(out, request.data); };
  return wanted;
}

result<write_reply> write_held(const root_set& roots, const held_target& held, const write_request& request,
                               const call& how) {
  const place& target = held.found;
  if (request.if_absent && target.exists()) {
    return fail(error_kind::conflict, printable(request.path) + " exists already");
  }
  if (request.if_match) {
    if (auto same = check_match(target, *request.if_match); !same) return fail(std::move(same.error()));
  }
  const bool appended = request.append && target.exists();
  auto status = appended ? append_to(target, request, how) : replace_content(target, whole_content(request), how);
  if (!status) return fail(std::move(status.error()));
  write_reply reply;
  reply.path = roots.returned_path(target.where);
  reply.bytes = static_cast<std::int64_t>(request.data.size());
  reply.created = !target.exists();
  reply.etag = appended ? etag_now(target, *status) : make_etag(*status, request.data);
  return reply;
}

}  // namespace

result<write_reply> write_file(const root_set& roots, const write_request& request, const call& how) {
  if (how.on_reactor && (request.data.size() > reactor_bytes_max || request.sync)) return needs_pool();
  const bool parents = request.parents && !request.if_match;
  const wants wanted = parents ? wants::name_making_parents : wants::name;
  for (int attempt = 0;; ++attempt) {
    auto held = hold_target(roots, request.path, wanted, how);
    if (!held && request.if_match && held.error().kind == error_kind::not_found) {
      return fail(error_kind::conflict, printable(request.path) + " has changed since");
    }
    if (!held) return fail(std::move(held.error()));
    auto reply = write_held(roots, *held, request, how);
    // A process of the workspace made the name between our look and our link: look again.
    const bool raced = !reply && reply.error().kind == error_kind::conflict && !held->found.exists() &&
                       !request.if_absent && !request.if_match;
    if (!raced || attempt == attempts_max) return reply;
  }
}

}  // namespace sbx::fs
