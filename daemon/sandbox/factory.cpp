#include "daemon/sandbox/factory.hpp"

#include <sys/stat.h>

namespace sbx::sandbox {

process_defaults note_process_defaults() {
  process_defaults noted;
  noted.umask = ::umask(077);
  ::umask(noted.umask);
  for (int resource = 0; resource < RLIM_NLIMITS; ++resource) {
    rlimit value{};
    if (::getrlimit(static_cast<__rlimit_resource>(resource), &value) == 0) noted.rlimits.emplace_back(resource, value);
  }
  return noted;
}

std::string_view name_of(backend_kind kind) {
  switch (kind) {
    case backend_kind::bwrap:
      return "bwrap";
    case backend_kind::docker:
      return "docker";
    case backend_kind::podman:
      return "podman";
    case backend_kind::none:
      return "none";
  }
  return "unknown";
}

}  // namespace sbx::sandbox
