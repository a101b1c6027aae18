#include "daemon/workspace/root_rules.hpp"

#include <cerrno>
#include <filesystem>

#include "daemon/sandbox/paths.hpp"

namespace sbx::workspace {

namespace {

error refused(const char* reason) {
  return error(error_kind::denied, "this directory may not be used by a workspace").with("reason", std::string(reason));
}

}  // namespace

root_rules::root_rules(daemon_paths paths, std::optional<std::vector<std::string>> allowed_roots)
    : paths_(std::move(paths)), allowed_(std::move(allowed_roots)) {
  if (!allowed_) return;
  for (auto& allowed : *allowed_) {
    std::error_code failed;
    const auto canonical = std::filesystem::weakly_canonical(allowed, failed);
    if (!failed) allowed = canonical.string();
  }
}

result<void> root_rules::check(const std::string& canonical) const {
  if (canonical == "/") return fail(refused("the root of the file system"));
  for (const char* system : {"/proc", "/sys", "/dev"})
    if (sandbox::is_within(canonical, system)) return fail(refused("a file system of the kernel"));
  const bool is_copy =
      !paths_.copies.empty() && canonical != paths_.copies && sandbox::is_within(canonical, paths_.copies);
  for (const auto& own : paths_.own) {
    if (is_copy && sandbox::is_within(paths_.copies, own)) continue;
    if (sandbox::overlap(canonical, own)) return fail(refused("something of the daemon's own"));
  }
  if (!allowed_ || is_copy) return {};
  for (const auto& allowed : *allowed_)
    if (sandbox::is_within(canonical, allowed)) return {};
  return fail(refused("outside the allowed roots"));
}

result<std::string> root_rules::resolve(const std::string& path) const {
  std::error_code failed;
  const auto canonical = std::filesystem::canonical(path, failed);
  if (!failed) {
    if (auto judged = check(canonical.string()); !judged) return fail(judged.error());
    return canonical.string();
  }
  std::error_code ignored;
  const auto nearest = std::filesystem::weakly_canonical(path, ignored);
  if (!ignored)
    if (auto judged = check(nearest.string()); !judged) return fail(judged.error());
  return fail_system(failed.value(), "opening", path);
}

}  // namespace sbx::workspace
