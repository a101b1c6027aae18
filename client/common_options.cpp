#include "client/common_options.hpp"

#include <charconv>

namespace sbx::client {

void where_options::describe(options& o) {
  o.text("-w,--workspace", workspace, "Handle or name of a workspace (else the one that holds the current directory)",
         "WS");
  o.text("--root", root, "Open this directory as the workspace, or use it if it is one", "DIR");
}

void open_options::describe(options& o) {
  o.text("--profile", profile, "A profile of the daemon's configuration", "NAME");
  o.word("--backend", backend, {"bwrap", "docker", "podman", "none"}, "What the sandbox is made with");
  o.text("--image", image, "Image of a container backend");
  o.text("--network", network, "none, host, bridge, name=NETWORK or allow=NAME,*.SUFFIX,NAME:PORT", "NETWORK");
  o.texts("-e,--env", env, "Set inside; a name alone takes the caller's value (may be repeated)", "NAME[=VALUE]");
  o.texts("--mount", mounts, "A further host directory or file, read-only (may be repeated)", "SOURCE[=TARGET]");
  o.texts("--mount-rw", writable_mounts, "The same, writable", "SOURCE[=TARGET]");
  o.size("--memory", memory_bytes, "Limit of memory");
  o.text("--cpus", cpus, "Limit of processors", "N");
  o.number("--pids", pids, "Limit of processes");
  o.size("--tmp", tmp_bytes, "Size of the private /tmp");
  o.text("--user", user, "Container backends: who runs inside", "UID:GID");
  o.flag("--image-user", image_user, "Container backends: the image's own user");
  o.text("--name", name, "A name to call it by");
}

outcome<proto::env_map> env_of(const std::vector<std::string>& given) {
  auto parsed = parse_env(given);
  if (!parsed) return fail(std::move(parsed.error()));
  proto::env_map made;
  for (auto& [name, value] : *parsed) {
    auto& slot = made[name];
    if (value) slot.emplace(std::move(*value));
  }
  return made;
}

outcome<proto::network_choice> parse_network(std::string_view text) {
  using form = proto::network_choice::form;
  proto::network_choice made;
  if (text == "none") return made;
  if (text == "host" || text == "bridge") {
    made.mode = text == "host" ? form::host : form::bridge;
    return made;
  }
  if (text.starts_with("name=") && text.size() > 5) {
    made.mode = form::named;
    made.name = text.substr(5);
    return made;
  }
  if (!text.starts_with("allow=")) return fail(exit_usage, "There is no network " + shell_quote(text) + ".");
  made.mode = form::allow;
  text.remove_prefix(6);
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    if (comma > 0) made.allow.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return made;
}

proto::mount_entry parse_mount(std::string_view text) {
  proto::mount_entry made;
  const auto equals = text.find('=');
  made.source = proto::c_bytes(absolute_path(std::string(text.substr(0, equals))));
  if (equals != std::string_view::npos) made.target.emplace(std::string(text.substr(equals + 1)));
  return made;
}

outcome<proto::workspace_open_params> open_options::params() const {
  proto::workspace_open_params made;
  if (profile) made.profile = *profile;
  if (backend)
    for (std::size_t n = 0; n < std::size(proto::words<proto::backend_name>::list); ++n)
      if (proto::words<proto::backend_name>::list[n] == *backend) made.backend = static_cast<proto::backend_name>(n);
  made.image = image;
  made.name = name;
  if (network) {
    auto parsed = parse_network(*network);
    if (!parsed) return fail(std::move(parsed.error()));
    made.network = std::move(*parsed);
  }
  auto set = env_of(env);
  if (!set) return fail(std::move(set.error()));
  made.env = std::move(*set);
  for (const auto& mount : mounts) made.mounts.push_back(parse_mount(mount));
  for (const auto& mount : writable_mounts) {
    made.mounts.push_back(parse_mount(mount));
    made.mounts.back().writable = true;
  }
  proto::limits_entry limits;
  limits.memory_bytes = memory_bytes;
  limits.pids = pids;
  limits.tmp_bytes = tmp_bytes;
  if (cpus) {
    double number = 0;
    const auto [end, error] = std::from_chars(cpus->data(), cpus->data() + cpus->size(), number);
    if (error != std::errc() || end != cpus->data() + cpus->size() || number <= 0)
      return fail(exit_usage, shell_quote(*cpus) + " is no number of processors.");
    limits.cpus = number;
  }
  if (memory_bytes || pids || tmp_bytes || cpus) made.limits = limits;
  if (image_user) made.user = proto::nullable<std::string>::null();
  if (user) made.user = proto::nullable<std::string>(*user);
  return made;
}

void command_options::describe(options& o, std::size_t words_min) {
  o.texts("-e,--env", env, "Set for the command; a name alone takes the caller's value (may be repeated)",
          "NAME[=VALUE]");
  o.text("--cwd", cwd, "Where it runs (else the current directory if the workspace holds it)", "DIR");
  o.flag("-c,--shell", shell, "The words are one line for the workspace's shell");
  o.command(words, "[--] COMMAND [ARG…]", words_min);
}

outcome<void> command_options::fill(proto::command_params& into, const proto::workspace_entry& where) const {
  into.workspace = where.workspace;
  if (shell) {
    std::string line;
    for (const auto& word : words) line += (line.empty() ? "" : " ") + word;
    into.command = std::move(line);
  } else if (!words.empty()) {
    into.argv.emplace();
    for (const auto& word : words) into.argv->emplace_back(word);
  }
  auto set = env_of(env);
  if (!set) return fail(std::move(set.error()));
  into.env = std::move(*set);
  if (cwd) {
    into.cwd.emplace(*cwd);
  } else if (const std::string here = current_directory(); !containing_root(where.roots, here).empty()) {
    into.cwd.emplace(here);
  }
  return {};
}

std::string describe_end(const proto::exit_info& end) {
  switch (end.outcome) {
    case proto::outcome::timed_out:
      return "The command timed out.";
    case proto::outcome::lost:
      return "The sandbox was lost while the command ran.";
    case proto::outcome::oom_killed:
      return "The command was killed: out of memory.";
    case proto::outcome::stopped:
      return "The command was stopped.";
    case proto::outcome::cancelled:
      return "The command was cancelled.";
    case proto::outcome::exited:
    case proto::outcome::signaled:
      break;
  }
  return {};
}

int exit_code_of(const proto::exit_info& end) {
  if (end.outcome == proto::outcome::timed_out) return exit_timed_out;
  return end.code ? static_cast<int>(*end.code) : exit_unavailable;
}

}  // namespace sbx::client
