#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <queue>

#include "daemon/fs/directory.hpp"
#include "daemon/fs/errors.hpp"
#include "daemon/fs/file_ops.hpp"
#include "daemon/fs/resolve.hpp"
#include "daemon/sys/beneath.hpp"

namespace sbx::fs {
namespace {

constexpr std::int64_t limit_max = 10'000;
constexpr std::string_view cursor_prefix = "after-";

std::string make_cursor(const std::string& name) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string cursor(cursor_prefix);
  for (const char byte : name) {
    cursor.push_back(digits[static_cast<unsigned char>(byte) >> 4]);
    cursor.push_back(digits[static_cast<unsigned char>(byte) & 15]);
  }
  return cursor;
}

int digit_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  return -1;
}

// The name that the page before ended with.
result<std::string> read_cursor(std::string_view cursor) {
  std::string name;
  const bool ours = cursor.substr(0, cursor_prefix.size()) == cursor_prefix && cursor.size() % 2 == 0;
  if (!ours) return invalid("/cursor", "this is no cursor of fs.list");
  cursor.remove_prefix(cursor_prefix.size());
  for (std::size_t index = 0; index < cursor.size(); index += 2) {
    const int high = digit_value(cursor[index]), low = digit_value(cursor[index + 1]);
    if (high < 0 || low < 0) return invalid("/cursor", "this is no cursor of fs.list");
    name.push_back(static_cast<char>(high * 16 + low));
  }
  return name;
}

// The first names after `after`, in order, one more than `limit` when there are more.
int first_names(sys::fd_ref directory, const std::string& after, std::size_t limit, const place& found,
                const root_set& roots, const call& how, std::vector<std::string>& names) {
  const policy& rules = roots.rules();
  std::priority_queue<std::string> smallest;
  const int failed = for_each_entry(directory, how, [&](const char* name, unsigned) {
    if (!after.empty() && after.compare(name) >= 0) return true;
    if (smallest.size() > limit && smallest.top().compare(name) <= 0) return true;
    if (!rules.empty() && rules.denies(joined(found.where.relative, name))) return true;
    smallest.emplace(name);
    if (smallest.size() > limit + 1) smallest.pop();
    return true;
  });
  names.resize(smallest.size());
  for (std::size_t index = names.size(); index > 0; --index) {
    names[index - 1] = smallest.top();
    smallest.pop();
  }
  return failed;
}

void add_entry(sys::fd_ref directory, std::string name, list_reply& reply) {
  struct stat status {};
  if (::fstatat(directory.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return;  // gone meanwhile
  list_entry entry;
  entry.name = std::move(name);
  entry.type = type_of(status);
  entry.size = status.st_size;
  entry.mtime_ns = mtime_ns(status);
  reply.entries.push_back(std::move(entry));
}

}  // namespace

result<list_reply> list_directory(const root_set& roots, const list_request& request, const call& how) {
  if (request.limit < 1 || request.limit > limit_max) return invalid("/limit", "the limit is from 1 to 10000");
  if (how.on_reactor) return needs_pool();
  std::string after;
  if (!request.cursor.empty()) {
    auto name = read_cursor(request.cursor);
    if (!name) return fail(std::move(name.error()));
    after = std::move(*name);
  }
  resolve_options options(last_link::follow, wants::object_alone, intent::look);
  options.empty_is_root = true;
  auto found = resolve(roots, request.path, options, how);
  if (!found) return fail(std::move(found.error()));
  if (!found->is_directory()) return fail_at(ENOTDIR, "listing", request.path);
  const sys::unique_fd directory(sys::reopen(found->object, O_RDONLY | O_DIRECTORY));
  if (!directory) return fail_at(errno, "listing", request.path);
  const auto limit = static_cast<std::size_t>(request.limit);
  std::vector<std::string> names;
  const int failed = first_names(directory, after, limit, *found, roots, how, names);
  if (failed == ECANCELED) return cancelled();
  if (failed != 0) return fail_at(failed, "listing", request.path);
  list_reply reply;
  if (names.size() > limit) {
    names.resize(limit);
    reply.next_cursor = make_cursor(names.back());
  }
  for (std::string& name : names) add_entry(directory, std::move(name), reply);
  return reply;
}

}  // namespace sbx::fs
