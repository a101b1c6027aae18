#include "daemon/sandbox/bwrap_plan.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>

#include "daemon/sandbox/mount_rules.hpp"
#include "daemon/sandbox/paths.hpp"

namespace sbx::sandbox {
namespace {

// In /dev, where no root or mount can lie.
constexpr std::string_view init_path = "/dev/sbx-init";
constexpr std::string_view host_name = "sbx";
constexpr std::int64_t default_tmp_bytes = std::int64_t{4} << 30;
constexpr std::int64_t default_home_bytes = std::int64_t{1} << 30;
constexpr std::int64_t default_shm_bytes = std::int64_t{1} << 30;

// What is bound after the system is in place, in the order of its path: what holds comes before what is held.
struct late_bind {
  late_bind() = default;
  std::string path;
  const extra_bind* extra = nullptr;
  const mount_spec* mount = nullptr;
  const root_spec* root = nullptr;
};

// '/' sorts before every other byte, so that a directory's entries follow it at once.
bool path_less(const late_bind& a, const late_bind& b) {
  return std::lexicographical_compare(a.path.begin(), a.path.end(), b.path.begin(), b.path.end(), [](char x, char y) {
    const auto rank = [](char c) { return c == '/' ? 0 : 1 + static_cast<unsigned char>(c); };
    return rank(x) < rank(y);
  });
}

class planner {
 public:
  planner(const spec& wanted, const bwrap_inputs& inputs)
      : wanted_(wanted), in_(inputs), next_fd_(inputs.first_free_fd) {}

  bwrap_plan make() {
    plan_.home = choose_home(wanted_, in_.host.identity.home);
    add_namespaces();
    add_system();
    add_etc();
    add_proc();
    add_dev();
    add_private_directories();
    add_late_binds();
    add({"--remount-ro", "/"});
    plan_.command.emplace_back(init_path);
    plan_.command.insert(plan_.command.end(), in_.init_arguments.begin(), in_.init_arguments.end());
    return std::move(plan_);
  }

 private:
  void add(std::initializer_list<std::string_view> words) {
    for (const auto word : words) plan_.arguments.emplace_back(word);
  }

  std::string pass(std::variant<std::shared_ptr<sys::unique_fd>, std::string> source) {
    plan_descriptor descriptor;
    descriptor.number = next_fd_++;
    descriptor.source = std::move(source);
    plan_.descriptors.push_back(std::move(descriptor));
    return std::to_string(plan_.descriptors.back().number);
  }

  bool has_host_network() const { return wanted_.network.mode == network_spec::mode::host; }

  // Every path that is bound late: the roots, the mounts that are there, what a worktree needs.
  template <class Predicate>
  bool any_late_path(Predicate holds) const {
    for (const auto& root : wanted_.roots)
      if (holds(root.path)) return true;
    for (const auto& mount : wanted_.mounts)
      if (mount.fd && holds(target_of(mount))) return true;
    for (const auto& extra : in_.extra)
      if (holds(extra.path)) return true;
    return false;
  }

  // The path is hidden by a late bind anyway, so nothing is made there.
  bool is_covered(std::string_view path) const {
    return any_late_path([&](const std::string& bound) { return is_within(path, bound); });
  }

  // A late bind lies beneath the path, so it must be a real directory.
  bool holds_a_bind(std::string_view path) const {
    return any_late_path([&](const std::string& bound) { return is_within(bound, path); });
  }

  void add_namespaces() {
    add({"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"});
    if (!has_host_network()) add({"--unshare-net"});
    add({"--cap-drop", "ALL", "--die-with-parent", "--as-pid-1", "--new-session", "--clearenv"});
    add({"--hostname", host_name, "--info-fd", std::to_string(in_.status_fd)});
  }

  void add_entry(const host_entry& entry) {
    if (is_covered(entry.path)) return;
    if (entry.link.empty())
      add({"--ro-bind-try", entry.source, entry.path});
    else
      add({"--symlink", entry.link, entry.path});
  }

  void add_system() {
    for (const auto& entry : in_.host.system) add_entry(entry);
  }

  void add_text(std::string_view path, std::string content) {
    if (is_covered(path)) return;
    const std::string number = pass(std::move(content));
    add({"--perms", "0644", "--file", number, path});
  }

  void add_etc() {
    for (const auto& entry : in_.host.etc) add_entry(entry);
    add_text("/etc/passwd", passwd());
    add_text("/etc/group", group());
    add_text("/etc/hostname", std::string(host_name) + "\n");
    add_text("/etc/hosts", has_host_network() && !in_.host.hosts.empty()
                               ? in_.host.hosts
                               : "127.0.0.1 localhost " + std::string(host_name) + "\n::1 localhost\n");
    if (has_host_network()) add_text("/etc/resolv.conf", in_.host.resolv_conf);
  }

  std::string passwd() const {
    const auto& who = in_.host.identity;
    const std::string_view shell = in_.host.has_bash ? "/bin/bash" : "/bin/sh";
    const auto line = [&](const std::string& name, unsigned uid, unsigned gid, const std::string& home,
                          std::string_view with) {
      return name + ":x:" + std::to_string(uid) + ":" + std::to_string(gid) + "::" + home + ":" + std::string(with) +
             "\n";
    };
    std::string text = line(who.user, who.uid, who.gid, plan_.home, shell);
    if (who.uid != 0) text += line("root", 0, 0, "/root", "/usr/sbin/nologin");
    return text + line("nobody", 65534, 65534, "/nonexistent", "/usr/sbin/nologin");
  }

  std::string group() const {
    const auto& who = in_.host.identity;
    std::string text = who.group + ":x:" + std::to_string(who.gid) + ":\n";
    if (who.gid != 0) text += "root:x:0:\n";
    return text + "nogroup:x:65534:\n";
  }

  void add_proc() {
    add({"--proc", "/proc"});
    for (const auto& path : in_.host.proc_frozen) add({"--ro-bind-try", path, path});
    for (const auto& path : in_.host.proc_hidden) add({"--ro-bind-try", "/dev/null", path});
  }

  void add_sized_tmpfs(std::string_view mode, std::int64_t default_bytes, std::string_view path) {
    const std::int64_t bytes = wanted_.limits.tmp_bytes.value_or(default_bytes);
    add({"--perms", mode, "--size", std::to_string(std::max<std::int64_t>(bytes, 4096)), "--tmpfs", path});
  }

  void add_dev() {
    add({"--dev", "/dev"});
    add_sized_tmpfs("1777", default_shm_bytes, "/dev/shm");
    const std::string number = pass(in_.init);
    add({"--ro-bind-fd", number, init_path, "--remount-ro", "/dev"});
  }

  void add_private_directories() {
    if (!is_covered("/tmp")) add_sized_tmpfs("1777", default_tmp_bytes, "/tmp");
    if (!holds_a_bind("/var/tmp")) add({"--symlink", "../tmp", "/var/tmp"});
    if (!holds_a_bind("/var/run")) add({"--symlink", "../run", "/var/run"});
    if (!is_covered("/run")) add({"--dir", "/run"});
    if (plan_.home != "/tmp") add_sized_tmpfs("0700", default_home_bytes, plan_.home);
  }

  void add_late_binds() {
    std::vector<late_bind> binds;
    const auto push = [&](std::string path) -> late_bind& {
      binds.emplace_back();
      binds.back().path = std::move(path);
      return binds.back();
    };
    for (const auto& extra : in_.extra) push(extra.path).extra = &extra;
    for (const auto& mount : wanted_.mounts)
      if (mount.fd) push(target_of(mount)).mount = &mount;
    for (const auto& root : wanted_.roots) push(root.path).root = &root;
    std::stable_sort(binds.begin(), binds.end(), path_less);
    for (const auto& bind : binds) {
      if (bind.extra) add_extra(*bind.extra);
      if (bind.mount) add_mount(*bind.mount);
      if (bind.root) add({"--bind-fd", pass(bind.root->fd), bind.root->path});
    }
  }

  void add_mount(const mount_spec& mount) {
    const auto& target = target_of(mount);
    if (const auto copy = in_.verified.find(target); copy != in_.verified.end()) {
      const std::string number = pass(copy->second.content);
      add({"--perms", copy->second.executable ? "0555" : "0444", "--ro-bind-data", number, target});
      return;
    }
    const std::string number = pass(mount.fd);
    add({mount.writable ? "--bind-fd" : "--ro-bind-fd", number, target});
  }

  void add_extra(const extra_bind& extra) {
    switch (extra.what) {
      case extra_bind::kind::writable:
        add({"--bind-fd", pass(extra.fd), extra.path});
        break;
      case extra_bind::kind::read_only:
        add({"--ro-bind-fd", pass(extra.fd), extra.path});
        break;
      case extra_bind::kind::empty_file:
        add({"--perms", "0444", "--ro-bind-data", pass(std::string()), extra.path});
        break;
      case extra_bind::kind::empty_directory:
        add({"--perms", "0555", "--size", "4096", "--tmpfs", extra.path, "--remount-ro", extra.path});
        break;
    }
  }

  const spec& wanted_;
  const bwrap_inputs& in_;
  int next_fd_;
  bwrap_plan plan_;
};

}  // namespace

bwrap_plan plan_bwrap(const spec& wanted, const bwrap_inputs& inputs) {
  return planner(wanted, inputs).make();
}

std::string choose_home(const spec& wanted, const std::string& host_home) {
  const auto is_free = [&](const std::string& home) {
    for (const auto& root : wanted.roots)
      if (is_within(home, root.path)) return false;
    for (const auto& mount : wanted.mounts)
      if (is_within(home, target_of(mount))) return false;
    return true;
  };
  // A home in a system directory (a service user's) could not be made there.
  constexpr auto system =
      std::to_array<std::string_view>({"/usr", "/bin", "/sbin", "/lib", "/etc", "/proc", "/sys", "/dev"});
  const bool is_system =
      std::any_of(system.begin(), system.end(), [&](auto path) { return is_within(host_home, path); });
  if (host_home.size() > 1 && !is_system && is_free(host_home)) return host_home;
  for (const std::string candidate : {"/home/sbx", "/var/home/sbx", "/run/sbx/home"})
    if (is_free(candidate)) return candidate;
  return "/tmp";
}

}  // namespace sbx::sandbox
