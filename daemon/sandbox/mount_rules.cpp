#include "daemon/sandbox/mount_rules.hpp"

#include <array>
#include <filesystem>
#include <set>
#include <string_view>

#include "daemon/sandbox/paths.hpp"

namespace sbx::sandbox {
namespace {

constexpr auto reserved = std::to_array<std::string_view>({"/proc", "/sys", "/dev"});

bool is_plain(const std::string& path) {
  if (path.size() < 2 || path.front() != '/' || path.back() == '/') return false;
  return std::filesystem::path(path).lexically_normal().string() == path;
}

result<void> check_target(const spec& wanted, const std::string& target) {
  if (!is_plain(target))
    return fail(error_kind::invalid_params, "the mount target " + target + " is not a plain absolute path");
  for (const auto directory : reserved)
    if (is_within(target, directory))
      return fail(error_kind::invalid_params, "the mount target " + target + " lies in " + std::string(directory));
  for (const auto& root : wanted.roots)
    if (overlap(target, root.path))
      return fail(error_kind::invalid_params, "the mount target " + target + " overlaps the root " + root.path);
  return {};
}

}  // namespace

const std::string& target_of(const mount_spec& mount) {
  return mount.target.empty() ? mount.source : mount.target;
}

result<void> check_mounts(const spec& wanted) {
  std::set<std::string_view> seen;
  for (const auto& mount : wanted.mounts) {
    const auto& target = target_of(mount);
    if (auto fine = check_target(wanted, target); !fine) return fine;
    if (!seen.insert(target).second) return fail(error_kind::invalid_params, "two mounts have the target " + target);
    if (mount.writable && mount.sha256)
      return fail(error_kind::invalid_params, "the mount " + target + " is writable, so its sha256 would not hold");
  }
  return {};
}

}  // namespace sbx::sandbox
