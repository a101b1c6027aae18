#include "daemon/sys/error.hpp"

#include <cerrno>
#include <cstring>

namespace sbx {

error error::system(int number, std::string_view doing, std::string_view subject) {
  std::string message(doing);
  if (!subject.empty()) message.append(" ").append(subject);
  const char* name = ::strerrorname_np(number);
  message.append(": ").append(::strerrordesc_np(number) ? ::strerrordesc_np(number) : "unknown error");
  error e(number == ENOENT ? error_kind::not_found : error_kind::io, std::move(message));
  e.number = number;
  e.details.emplace_back("errno", std::string(name ? name : "UNKNOWN"));
  if (!subject.empty() && subject.front() == '/') e.details.emplace_back("path", std::string(subject));
  return e;
}

}  // namespace sbx
