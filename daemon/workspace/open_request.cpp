#include "daemon/workspace/open_request.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <set>
#include <sstream>

namespace sbx::workspace {

namespace {

sandbox::network_spec default_network(sandbox::backend_kind backend) {
  sandbox::network_spec network;
  if (backend == sandbox::backend_kind::none) network.mode = sandbox::network_spec::mode::host;
  return network;
}

error at(error e, std::string pointer) {
  if (e.kind != error_kind::invalid_params) return e;
  for (const auto& [name, value] : e.details)
    if (name == "path") return e;
  return std::move(e).with("path", std::move(pointer));
}

result<sandbox::mount_spec> open_mount(const mount_wish& wish) {
  sandbox::mount_spec mount;
  mount.source = wish.source;
  mount.target = wish.target.value_or(wish.source);
  mount.writable = wish.writable;
  mount.optional = wish.optional;
  mount.sha256 = wish.sha256;
  sys::unique_fd fd(::open(wish.source.c_str(), O_PATH | O_CLOEXEC));
  if (!fd) {
    if (wish.optional) return mount;
    return fail_system(errno, "opening", wish.source);
  }
  mount.fd = std::make_shared<sys::unique_fd>(std::move(fd));
  return mount;
}

// A call's mounts are judged like roots; a profile's are the configuration's own word.
result<void> add_mounts(const open_request& request, const profile& walls, const root_rules& rules,
                        sandbox::spec& spec) {
  for (const auto& wish : walls.mounts) {
    auto mount = open_mount(wish);
    if (!mount) return fail(mount.error());
    if (mount->fd) spec.mounts.push_back(std::move(*mount));
  }
  for (std::size_t i = 0; i < request.mounts.size(); ++i) {
    mount_wish wish = request.mounts[i];
    const std::string pointer = "/mounts/" + std::to_string(i);
    if (wish.source.empty() || wish.source.front() != '/')
      return fail(
          at(error(error_kind::invalid_params, "a mount's source must be an absolute path"), pointer + "/source"));
    auto source = rules.resolve(wish.source);
    if (!source) return fail(source.error());
    if (!wish.target) wish.target = *source;
    wish.source = *source;
    auto mount = open_mount(wish);
    if (!mount) return fail(mount.error());
    spec.mounts.push_back(std::move(*mount));
  }
  return {};
}

void describe(std::ostream& out, const std::string& text) {
  out << text.size() << ':' << text << ',';
}

// What makes two opens the same workspace: everything that shapes the sandbox, in one text.
std::string identity_of(const sandbox::spec& spec, const profile& walls, const std::string& roots_identity) {
  std::ostringstream out;
  out << roots_identity << "|" << static_cast<int>(spec.backend) << "|";
  describe(out, spec.image);
  out << static_cast<int>(spec.network.mode);
  describe(out, spec.network.name);
  for (const auto& mount : spec.mounts) {
    describe(out, mount.source);
    describe(out, mount.target);
    out << mount.writable << mount.sha256.value_or("") << ';';
  }
  const auto number = [&](const auto& value) {
    if (value) out << *value;
    out << '|';
  };
  number(spec.limits.memory_bytes);
  number(spec.limits.pids);
  number(spec.limits.tmp_bytes);
  number(spec.limits.cpus);
  out << static_cast<int>(spec.user.mode) << ':' << spec.user.uid << ':' << spec.user.gid << spec.strict_seccomp;
  for (const auto* list : {&spec.engine_args, &spec.run_args, &walls.shell, &walls.fs_deny, &walls.fs_read_only}) {
    out << '[';
    for (const auto& text : *list) describe(out, text);
  }
  return out.str();
}

result<std::vector<std::string>> resolve_roots(const std::vector<std::string>& roots, const root_rules& rules) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < roots.size(); ++i) {
    const std::string pointer = "/roots/" + std::to_string(i);
    if (roots[i].empty() || roots[i].front() != '/')
      return fail(at(error(error_kind::invalid_params, "a root must be an absolute path"), pointer));
    auto canonical = rules.resolve(roots[i]);
    if (!canonical) return fail(canonical.error());
    out.push_back(std::move(*canonical));
  }
  return out;
}

}  // namespace

result<profile> effective_walls(const open_request& request, const settings& known) {
  const auto found = known.profiles.find(request.profile);
  if (found == known.profiles.end())
    return fail(at(error(error_kind::invalid_params, "there is no such profile"), "/profile"));
  profile walls = found->second;
  if (walls.network_refused && !request.network) return fail(*walls.network_refused);
  if (request.backend) walls.backend = *request.backend;
  if (request.image) walls.image = *request.image;
  if (request.network) walls.network = *request.network;
  if (request.user) walls.user = *request.user;
  if (request.limits.memory_bytes) walls.limits.memory_bytes = request.limits.memory_bytes;
  if (request.limits.cpus) walls.limits.cpus = request.limits.cpus;
  if (request.limits.pids) walls.limits.pids = request.limits.pids;
  if (request.limits.tmp_bytes) walls.limits.tmp_bytes = request.limits.tmp_bytes;
  return walls;
}

sandbox::spec spec_of(const profile& walls) {
  sandbox::spec out;
  out.backend = walls.backend;
  out.image = walls.image;
  out.network = walls.network.value_or(default_network(walls.backend));
  out.limits = walls.limits;
  out.user = walls.user;
  out.strict_seccomp = walls.strict_seccomp;
  out.engine_args = walls.engine_args;
  out.run_args = walls.run_args;
  return out;
}

result<prepared> prepare(const open_request& request, const profile& walls, const root_rules& rules,
                         const std::string& copies, const fs::call& how) {
  prepared out;
  out.spec = spec_of(walls);
  std::vector<std::string> paths;
  if (request.copy_of) {
    if (request.copy_of->empty() || request.copy_of->front() != '/')
      return fail(at(error(error_kind::invalid_params, "copy_of must be an absolute path"), "/copy_of"));
    auto source = rules.resolve(*request.copy_of);
    if (!source) return fail(source.error());
    auto copy = make_copy(*source, copies, how);
    if (!copy) return fail(copy.error());
    out.copy = std::move(*copy);
    paths = {out.copy->path()};
  } else {
    auto resolved = resolve_roots(request.roots, rules);
    if (!resolved) return fail(resolved.error());
    paths = std::move(*resolved);
  }
  auto policy = fs::policy::compile(walls.fs_deny, walls.fs_read_only);
  if (!policy) return fail(policy.error());
  auto roots = fs::root_set::open(paths, std::move(*policy));
  if (!roots) return fail(at(roots.error(), "/roots"));
  std::ostringstream identity;
  for (const auto& root : roots->roots()) {
    // Between resolving and opening the path may have been swapped: what was opened is what is judged.
    if (auto judged = rules.check(root.path); !judged) return fail(judged.error());
    identity << root.device << ':' << root.inode << ';';
    sandbox::root_spec spec;
    spec.path = root.path;
    spec.fd = root.fd;
    out.spec.roots.push_back(std::move(spec));
  }
  out.roots_identity = identity.str();
  if (auto mounted = add_mounts(request, walls, rules, out.spec); !mounted) return fail(mounted.error());
  out.identity = identity_of(out.spec, walls, out.roots_identity);
  out.roots = std::make_shared<const fs::root_set>(std::move(*roots));
  return out;
}

}  // namespace sbx::workspace
