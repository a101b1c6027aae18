// workspace.*
#pragma once

#include "proto/types.hpp"

namespace sbx::proto {

enum class backend_name { bwrap, docker, podman, none };
template <>
struct words<backend_name> {
  static constexpr std::string_view list[] = {"bwrap", "docker", "podman", "none"};
};

// "none", "host", "bridge", {"name": "…"} or {"allow": […]}.
struct network_choice {
  network_choice() = default;
  enum class form { none, host, bridge, named, allow } mode = form::none;
  std::string name;                // named
  std::vector<std::string> allow;  // "name", "*.suffix", "name:port"
  bool operator==(const network_choice&) const = default;

  static std::optional<fault> decode_json(const json& in, network_choice& out);
  static void encode_json(const network_choice& value, std::string& out);
  static void schema_json(json& out);
};

struct mount_entry {
  mount_entry() = default;
  c_bytes source;
  std::optional<c_bytes> target;
  bool writable = false;
  std::optional<std::string> sha256;
  void describe(visitor& v) {
    v.req("source", source, "Host directory or file.");
    v.opt("target", target, "Where it appears inside; absent: at the source's own path.");
    v.opt("writable", writable, "Read-only unless said.");
    v.opt("sha256", sha256, "Of a file: checked on what is mounted.",
          matching(is_sha256, "must be 64 hexadecimal digits"));
  }
};

struct limits_entry {
  limits_entry() = default;
  std::optional<std::int64_t> memory_bytes, pids, tmp_bytes;
  std::optional<double> cpus;
  void describe(visitor& v) {
    v.opt("memory_bytes", memory_bytes, "Memory of all processes together.", at_least(1));
    v.opt("cpus", cpus, "Processors, fractions allowed.", at_least(0));
    v.opt("pids", pids, "Processes and threads.", at_least(1));
    v.opt("tmp_bytes", tmp_bytes, "Size of each private temporary file system.", at_least(1));
  }
};

struct workspace_open_params : session_params {
  workspace_open_params() = default;
  std::optional<std::vector<c_bytes>> roots;
  std::optional<c_bytes> copy_of;
  std::string profile = "default";
  std::optional<backend_name> backend;
  std::optional<std::string> image;
  std::optional<network_choice> network;
  env_map env;
  std::vector<mount_entry> mounts;
  std::optional<limits_entry> limits;
  nullable<std::string> user;
  std::optional<std::string> name;
  bool keep = false;
  void describe(visitor& v) {
    session_params::describe(v);
    v.opt("roots", roots, "Existing directories, absolute, none inside another.", items(1, 64));
    v.opt("copy_of", copy_of, "A directory of which the daemon makes a private copy.", c_text);
    v.exactly_one({"roots", "copy_of"});
    v.opt("profile", profile, "A named profile of the configuration; the members below override it.");
    v.opt("backend", backend, "What the sandbox is made with.");
    v.opt("image", image, "Of a container.", c_text);
    v.opt("network", network, "What the processes can reach.");
    v.opt("env", env, "Set inside, over the profile's; null removes.", env_names);
    v.opt("mounts", mounts, "Extra host directories or files.", items(0, 256));
    v.opt("limits", limits, "Enforced, or the call fails with unsupported.");
    v.opt("user", user, "Container backends: \"uid:gid\", or null for the image's own; absent: the daemon's.",
          matching(is_user, "must be \"uid:gid\""));
    v.opt("name", name, "For people.");
    v.opt("keep", keep, "Of a copy: it stays when the workspace is closed.");
  }
};

enum class workspace_state { idle, starting, running, lost };
template <>
struct words<workspace_state> {
  static constexpr std::string_view list[] = {"idle", "starting", "running", "lost"};
};

struct sandbox_entry {
  sandbox_entry() = default;
  std::optional<std::int64_t> pid;
  std::optional<std::string> container;
  std::int64_t generation = 0;
  std::optional<std::string> started_at;
  void describe(visitor& v) {
    v.opt("pid", pid, "Of its first process, as the host sees it.");
    v.opt("container", container, "Id of the container.");
    v.req("generation", generation, "Sandboxes started so far.");
    v.req("started_at", started_at, "When, in RFC 3339 UTC; null before the first start.");
  }
};

struct workspace_entry {
  workspace_entry() = default;
  std::string workspace;
  std::vector<c_bytes> roots;
  backend_name backend = backend_name::bwrap;
  bool isolated = true;
  workspace_state state = workspace_state::idle;
  network_choice network;
  limits_entry limits;
  sandbox_entry sandbox;
  std::optional<std::string> name, image, profile;
  void describe(visitor& v) {
    v.req("workspace", workspace, "Its handle.");
    v.req("roots", roots, "Canonical paths of its directories.");
    v.req("backend", backend, "What its sandbox is made with.");
    v.req("isolated", isolated, "False when nothing keeps its processes from the host.");
    v.req("state", state, "Of its sandbox.");
    v.req("network", network, "What its processes can reach.");
    v.req("limits", limits, "Those in force.");
    v.req("sandbox", sandbox, "The sandbox as it stands.");
    v.opt("name", name, "As given at open.");
    v.opt("image", image, "Of a container.");
    v.opt("profile", profile, "The profile it was opened with.");
  }
};

struct workspace_list_result {
  workspace_list_result() = default;
  std::vector<workspace_entry> workspaces;
  void describe(visitor& v) { v.req("workspaces", workspaces, "This session's."); }
};

struct workspace_close_result {
  workspace_close_result() = default;
  bool ended = false, removed = false;
  void describe(visitor& v) {
    v.req("ended", ended, "The last hold was given up: its sandbox has ended.");
    v.req("removed", removed, "A copy was removed.");
  }
};

struct process_entry {
  process_entry() = default;
  std::int64_t pid = 0, ppid = 0;
  std::string state;
  std::int64_t rss_bytes = 0, cpu_ms = 0;
  std::optional<std::vector<c_bytes>> argv;
  std::optional<std::string> job;
  void describe(visitor& v) {
    v.req("pid", pid, "Inside.");
    v.req("ppid", ppid, "Inside.");
    v.req("state", state, "One letter, as in /proc/PID/stat.");
    v.req("rss_bytes", rss_bytes, "Resident size.");
    v.req("cpu_ms", cpu_ms, "Processor time used.");
    v.opt("argv", argv, "Of this session's own commands.");
    v.opt("job", job, "Job, pty or shell that it belongs to.");
  }
};

struct workspace_processes_result {
  workspace_processes_result() = default;
  std::vector<process_entry> processes;
  void describe(visitor& v) { v.req("processes", processes, "All that run inside."); }
};

struct workspace_open {
  static constexpr std::string_view name = "workspace.open",
                                    summary = "Opens directories as a workspace with one sandbox.";
  using params = workspace_open_params;
  using result = workspace_entry;
  static constexpr bool ordered = true;
};
struct workspace_get {
  static constexpr std::string_view name = "workspace.get", summary = "A workspace as it stands.";
  using params = workspace_params;
  using result = workspace_entry;
};
struct workspace_list {
  static constexpr std::string_view name = "workspace.list", summary = "This session's workspaces.";
  using params = session_params;
  using result = workspace_list_result;
};
struct workspace_start {
  static constexpr std::string_view name = "workspace.start", summary = "Starts the sandbox now.";
  using params = workspace_params;
  using result = workspace_entry;
};
struct workspace_restart {
  static constexpr std::string_view name = "workspace.restart",
                                    summary = "Ends every process; the next use starts afresh.";
  using params = workspace_params;
  using result = workspace_entry;
};
struct workspace_close {
  static constexpr std::string_view name = "workspace.close", summary = "Gives up this session's hold.";
  using params = workspace_params;
  using result = workspace_close_result;
};
struct workspace_processes {
  static constexpr std::string_view name = "workspace.processes", summary = "What runs inside.";
  using params = workspace_params;
  using result = workspace_processes_result;
};

}  // namespace sbx::proto
