#include "daemon/sandbox/host_facts.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

#include "daemon/sys/fd.hpp"

namespace sbx::sandbox {
namespace {

// Private keys lie beside certificates in /etc/ssl and /etc/pki, and root inside may read what root may: so not those
// directories whole. A trailing '*' stands for any ending.
constexpr auto etc_names = std::to_array<std::string_view>({
    "alternatives",
    "bash.bashrc",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "debian_version",
    "fonts",
    "gai.conf",
    "host.conf",
    "inputrc",
    "java*",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "locale.conf",
    "localtime",
    "magic",
    "magic.mime",
    "maven",
    "mime.types",
    "nanorc",
    "networks",
    "nsswitch.conf",
    "os-release",
    "perl",
    "pki/ca-trust",
    "pki/java",
    "pki/tls/cert.pem",
    "pki/tls/certs",
    "pki/tls/openssl.cnf",
    "protocols",
    "python*",
    "rpc",
    "services",
    "shells",
    "ssl/cert.pem",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
    "vim",
    "wgetrc",
});

constexpr auto system_links =
    std::to_array<std::string_view>({"bin", "sbin", "lib", "lib32", "lib64", "libx32", "libexec"});

// Root keeps the ownership of these inside, so the mode bits alone would let it write them.
constexpr auto proc_frozen_names = std::to_array<std::string_view>({
    "acpi",
    "asound",
    "bus",
    "driver",
    "fs",
    "irq",
    "mtrr",
    "pressure",
    "scsi",
    "sys",
    "sysrq-trigger",
});
constexpr auto proc_hidden_names = std::to_array<std::string_view>({
    "kcore",
    "keys",
    "kmsg",
    "kpagecgroup",
    "kpagecount",
    "kpageflags",
    "latency_stats",
    "pagetypeinfo",
    "sched_debug",
    "slabinfo",
    "timer_list",
    "timer_stats",
    "vmallocinfo",
});

std::optional<std::string> read_link(const std::string& path) {
  std::string text(PATH_MAX, '\0');
  const ssize_t length = ::readlink(path.c_str(), text.data(), text.size());
  if (length <= 0) return std::nullopt;
  text.resize(static_cast<std::size_t>(length));
  return text;
}

bool exists(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0;
}

bool is_link(const std::string& path) {
  struct stat status;
  return ::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
}

std::string read_small_file(const std::string& path) {
  const sys::unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  std::string content(64 * 1024, '\0');
  const ssize_t length = file ? ::read(file.get(), content.data(), content.size()) : 0;
  content.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  return content;
}

std::vector<std::string> names_matching(const std::string& directory, std::string_view pattern) {
  if (!pattern.ends_with('*')) return {std::string(pattern)};
  const std::string_view prefix = pattern.substr(0, pattern.size() - 1);
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(directory.c_str()), ::closedir);
  if (!stream) return names;
  while (const dirent* entry = ::readdir(stream.get()))
    if (std::string_view(entry->d_name).starts_with(prefix)) names.emplace_back(entry->d_name);
  std::sort(names.begin(), names.end());
  return names;
}

// A link into /usr is made again as a link: what it points to is there inside too. Any other is followed now.
std::optional<host_entry> etc_entry(const std::string& base, const std::string& name) {
  const std::string inside = "/etc/" + name;
  const std::string outside = base + inside;
  if (is_link(outside)) {
    const auto text = read_link(outside);
    if (!text) return std::nullopt;
    const auto target = (std::filesystem::path(inside).parent_path() / *text).lexically_normal().string();
    if (target.starts_with("/usr/")) return host_entry(inside, "", *text);
    std::error_code failed;
    const auto real = std::filesystem::canonical(outside, failed);
    if (failed) return std::nullopt;
    return host_entry(inside, real.string());
  }
  if (!exists(outside)) return std::nullopt;
  return host_entry(inside, outside);
}

void read_system(const std::string& base, host_facts& facts) {
  if (exists(base + "/usr")) facts.system.emplace_back("/usr", base + "/usr");
  for (const auto name : system_links) {
    const std::string inside = "/" + std::string(name);
    const std::string outside = base + inside;
    if (is_link(outside)) {
      if (auto text = read_link(outside)) facts.system.emplace_back(inside, "", std::move(*text));
    } else if (exists(outside)) {
      facts.system.emplace_back(inside, outside);
    }
  }
}

void read_proc(const std::string& base, host_facts& facts) {
  for (const auto name : proc_frozen_names)
    if (const auto path = "/proc/" + std::string(name); exists(base + path)) facts.proc_frozen.push_back(path);
  for (const auto name : proc_hidden_names)
    if (const auto path = "/proc/" + std::string(name); exists(base + path)) facts.proc_hidden.push_back(path);
}

}  // namespace

host_facts read_host_facts(const std::string& base) {
  host_facts facts;
  read_system(base, facts);
  for (const auto pattern : etc_names)
    for (const auto& name : names_matching(base + "/etc", pattern))
      if (auto entry = etc_entry(base, name)) facts.etc.push_back(std::move(*entry));
  read_proc(base, facts);
  facts.resolv_conf = read_small_file(base + "/etc/resolv.conf");
  facts.hosts = read_small_file(base + "/etc/hosts");
  facts.has_bash = exists(base + "/bin/bash") || exists(base + "/usr/bin/bash");
  return facts;
}

host_identity read_host_identity() {
  host_identity who;
  who.uid = ::geteuid();
  who.gid = ::getegid();
  std::vector<char> buffer(16 * 1024);
  passwd user{};
  passwd* found_user = nullptr;
  if (::getpwuid_r(who.uid, &user, buffer.data(), buffer.size(), &found_user) == 0 && found_user != nullptr) {
    who.user = found_user->pw_name;
    who.home = found_user->pw_dir;
  }
  group group_entry{};
  group* found_group = nullptr;
  if (::getgrgid_r(who.gid, &group_entry, buffer.data(), buffer.size(), &found_group) == 0 && found_group != nullptr)
    who.group = found_group->gr_name;
  if (who.user.empty()) who.user = "user";
  if (who.group.empty()) who.group = who.user;
  if (!who.home.starts_with('/') || who.home == "/") who.home = "/home/" + who.user;
  return who;
}

}  // namespace sbx::sandbox
