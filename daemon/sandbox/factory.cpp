#include "daemon/sandbox/factory.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "daemon/sandbox/bwrap.hpp"
#include "daemon/sandbox/container.hpp"
#include "daemon/sandbox/helper.hpp"
#include "daemon/sandbox/none.hpp"

namespace sbx::sandbox {
namespace {

std::string first_of(std::string given, const char* variable, std::string_view otherwise) {
  if (!given.empty()) return given;
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0' ? std::string(value) : std::string(otherwise);
}

std::string find_init() {
  std::error_code failed;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failed);
  const auto beside = program.parent_path() / "sbx-init";
  const auto installed = program.parent_path().parent_path() / "libexec/sbx/sbx-init";
  return ::access(beside.c_str(), X_OK) != 0 && ::access(installed.c_str(), X_OK) == 0 ? installed.string()
                                                                                       : beside.string();
}

}  // namespace

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

backend_set make_backends(async::asio::io_context& context, async::blocking_pool& pool, backend_options options) {
  options.init_path = first_of(options.init_path, "SBX_INIT", find_init());
  options.bwrap_path = first_of(options.bwrap_path, "SBX_BWRAP", "bwrap");
  options.docker_path = first_of(options.docker_path, "SBX_DOCKER", "docker");
  options.podman_path = first_of(options.podman_path, "SBX_PODMAN", "podman");
  auto keeper = std::make_shared<helper_keeper>(context);
  backend_set all;
  all.emplace(backend_kind::bwrap, make_bwrap(context, pool, keeper, options));
  all.emplace(backend_kind::none, make_none(context, keeper, options));
  for (const auto kind : {backend_kind::docker, backend_kind::podman})
    all.emplace(kind, make_container(context, pool, keeper, kind, options));
  return all;
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
