#include "daemon/fs/errors.hpp"

#include <cerrno>
#include <cstring>

#include "daemon/sys/utf8.hpp"

namespace sbx::fs {

std::string printable(std::string_view bytes) {
  constexpr std::size_t shown_max = 4096;
  return sys::to_valid_utf8(bytes.substr(0, shown_max));
}

tl::unexpected<error> fail_at(int number, std::string_view doing, std::string_view path) {
  const char* name = ::strerrorname_np(number);
  const char* description = ::strerrordesc_np(number);
  const std::string shown = printable(path);
  std::string message(doing);
  message.append(" ").append(shown.empty() ? "." : shown).append(": ");
  message.append(description ? description : "unknown error");
  error e(number == ENOENT ? error_kind::not_found : error_kind::io, std::move(message));
  e.number = number;
  e.details.emplace_back("errno", std::string(name ? name : "UNKNOWN"));
  e.details.emplace_back("path", shown);
  return fail(std::move(e));
}

tl::unexpected<error> denied(std::string_view reason) {
  error e(error_kind::denied, std::string(reason));
  e.details.emplace_back("reason", std::string(reason));
  return fail(std::move(e));
}

tl::unexpected<error> denied_outside() {
  return denied("the path leaves the workspace");
}
tl::unexpected<error> denied_by_rule() {
  return denied("a rule of the profile forbids it");
}

tl::unexpected<error> invalid(std::string_view pointer, std::string_view message) {
  error e(error_kind::invalid_params, std::string(message));
  e.details.emplace_back("path", std::string(pointer));
  return fail(std::move(e));
}

tl::unexpected<error> not_a_file(file_type type, std::string_view path) {
  error e(error_kind::not_a_file, printable(path) + " is not a regular file but a " + name_of(type));
  e.details.emplace_back("type", std::string(name_of(type)));
  return fail(std::move(e));
}

tl::unexpected<error> cancelled() {
  return fail(error_kind::cancelled, "the request was cancelled");
}

tl::unexpected<error> needs_pool() {
  error e(error_kind::internal, "this may block");
  e.number = EWOULDBLOCK;
  return fail(std::move(e));
}

bool would_block(const error& e) {
  return e.kind == error_kind::internal && e.number == EWOULDBLOCK;
}

file_type type_of(const struct stat& status) {
  switch (status.st_mode & S_IFMT) {
    case S_IFREG:
      return file_type::file;
    case S_IFDIR:
      return file_type::directory;
    case S_IFLNK:
      return file_type::symlink;
    case S_IFIFO:
      return file_type::fifo;
    case S_IFSOCK:
      return file_type::socket;
    default:
      return file_type::device;
  }
}

const char* name_of(file_type type) {
  switch (type) {
    case file_type::file:
      return "file";
    case file_type::directory:
      return "directory";
    case file_type::symlink:
      return "symlink";
    case file_type::fifo:
      return "fifo";
    case file_type::socket:
      return "socket";
    case file_type::device:
      return "device";
  }
  return "device";
}

}  // namespace sbx::fs
