#include "daemon/sandbox/unavailable.hpp"

#include <array>
#include <cerrno>
#include <cstring>

#include "daemon/sandbox/factory.hpp"

namespace sbx::sandbox {
namespace {

constexpr std::string_view userns_remedy =
    "user namespaces are forbidden to bwrap; on Ubuntu give it an AppArmor profile (apt install apparmor-profiles, "
    "then "
    "ln -s /usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/ and apparmor_parser -r it), or "
    "run "
    "sysctl kernel.apparmor_restrict_unprivileged_userns=0";

constexpr auto bwrap_failures = std::to_array<known_failure>({
    {"setting up uid map", "Permission denied", userns_remedy},
    {"loopback: Failed RTM_NEWADDR", "Operation not permitted", userns_remedy},
    {"setting up uid map", "Operation not permitted",
     "this kernel or container allows no user namespaces; allow them, or choose another backend"},
    {"No permissions to create new namespace", "",
     "allow user namespaces: sysctl kernel.unprivileged_userns_clone=1 (Debian), or user.max_user_namespaces above 0"},
    {"No permissions to creat", "namespace", "allow user namespaces: sysctl kernel.unprivileged_userns_clone=1"},
    {"reating new namespace failed", "", "raise sysctl user.max_user_namespaces and the other user.max_*_namespaces",
     retry::worthwhile},
    {"Unknown option", "-fd", "this bubblewrap is too old: install 0.8 of Debian 12, or 0.10 or newer"},
    {"Unknown option", "", "this bubblewrap is too old: install 0.8 of Debian 12, or 0.10 or newer"},
    {"Unexpected capabilities but not setuid", "",
     "bwrap has file capabilities or was given capabilities: start the daemon without, or remove them with setcap -r"},
    {"mount proc", "Operation not permitted",
     "the daemon runs where no new /proc may be mounted (in a container): run it on the host, or unmask /proc there"},
    {"mount proc", "", "allow mounting /proc in a user namespace here"},
    {"pivot_root", "", "bwrap cannot leave an initramfs root: run the daemon on a real root filesystem"},
    {"No space left on device", "", "free memory, or raise the mount limit fs.mount-max", retry::worthwhile},
    {"Cannot allocate memory", "", "free some memory and try again", retry::worthwhile},
    {"Resource temporarily unavailable", "", "too many processes: raise the limit and try again", retry::worthwhile},
    {"Race condition binding dirfd", "", "a root or mount moved just now: try again", retry::worthwhile},
    {"an't create file at", "", "choose a mount target outside the read-only system directories"},
    {"an't mkdir", "", "choose a mount target outside the read-only system directories"},
    {"an't find source path", "",
     "a root or mount was deleted or may not be searched by this user: open the workspace anew"},
    {"Operation not permitted", "",
     "this kernel, container or security module forbids bwrap what it needs; see sbxctl doctor"},
    {"Permission denied", "", "this user may not do what bwrap was asked to; check the modes of the roots and mounts"},
});

}  // namespace

error unavailable(backend_kind backend, std::string cause, std::string remedy, retry again) {
  const std::string name(name_of(backend));
  return error(error_kind::sandbox_unavailable, "the " + name + " sandbox cannot be started: " + cause)
      .with("backend", name)
      .with("cause", std::move(cause))
      .with("remedy", std::move(remedy))
      .with("retryable", again == retry::worthwhile);
}

error explain(backend_kind backend, std::string_view said, std::span<const known_failure> known,
              std::string_view otherwise) {
  std::string cause = tidy(said);
  for (const auto& failure : known) {
    if (cause.find(failure.part) == std::string::npos || cause.find(failure.other_part) == std::string::npos) continue;
    return unavailable(backend, std::move(cause), std::string(failure.remedy), failure.again);
  }
  if (cause.empty()) cause = std::string(name_of(backend)) + " ended without saying why";
  return unavailable(backend, std::move(cause), std::string(otherwise), retry::worthwhile);
}

error explain_bwrap(std::string_view said) {
  return explain(backend_kind::bwrap, said, bwrap_failures, "see what bwrap says, and sbxctl doctor");
}

error explain_bwrap_missing(const std::string& path, int number) {
  if (number == ENOENT)
    return unavailable(backend_kind::bwrap, path + " is not installed", "install bubblewrap (apt install bubblewrap)");
  return unavailable(backend_kind::bwrap, "starting " + path + ": " + std::strerror(number),
                     number == EACCES ? "make " + path + " executable" : "reinstall bubblewrap",
                     number == EAGAIN || number == ENOMEM ? retry::worthwhile : retry::useless);
}

std::string tidy(std::string_view said, std::size_t bytes_max) {
  if (said.size() > bytes_max) said.remove_prefix(said.size() - bytes_max);
  std::string text;
  for (const char c : said) text += (static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f ? ' ' : c;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  const auto begin = text.find_first_not_of(" \n");
  return begin == std::string::npos ? std::string() : text.substr(begin);
}

}  // namespace sbx::sandbox
