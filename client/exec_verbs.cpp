// exec and run.
#include "client/app.hpp"
#include "client/attach.hpp"
#include "client/common_options.hpp"
#include "client/exec_call.hpp"
#include "client/verbs.hpp"

namespace sbx::client {
namespace {

// What exec and run have in common.
struct run_options {
  command_options command;
  std::optional<std::int64_t> timeout_ms, grace_ms;
  bool pass_stdin = false, terminal = false, kill_survivors = false;
  void describe(options& o) {
    o.flag("-i,--stdin", pass_stdin, "Pass stdin on (else the command's is empty and ours is left alone)");
    o.flag("-t,--tty", terminal, "Give the command a terminal");
    o.duration("--timeout", timeout_ms, "Not done by then: TERM, then KILL, to the whole tree");
    o.duration("--grace", grace_ms, "Between TERM and KILL");
    o.flag("--kill-survivors", kill_survivors, "End background processes with the command");
    command.describe(o);
  }

  int run_in(app& a, connection& link, const proto::workspace_entry& where) const {
    if (terminal) {
      proto::pty_open_params params;
      if (auto filled = command.fill(params, where); !filled) return a.print_failure(filled.error(), exit_unavailable);
      if (grace_ms) params.grace_ms = *grace_ms;
      return run_on_terminal(a, link, std::move(params));
    }
    proto::exec_run_params params;
    if (auto filled = command.fill(params, where); !filled) return a.print_failure(filled.error(), exit_unavailable);
    if (grace_ms) params.grace_ms = *grace_ms;
    params.timeout_ms = timeout_ms;
    if (kill_survivors) params.survivors = proto::survivors_rule::kill;
    return run_command(a, link, std::move(params), pass_stdin ? stdin_use::pass : stdin_use::none);
  }
};

struct exec_verb {
  where_options where;
  run_options how;
  void describe(options& o) {
    where.describe(o);
    how.describe(o);
  }
  int run(app& a) {
    auto workspace = where.find(a);
    if (!workspace) return a.print_failure(workspace.error(), exit_unavailable);
    auto link = a.attach();
    if (!link) return a.print_failure(link.error(), exit_unavailable);
    return how.run_in(a, **link, *workspace);
  }
};

// In the connection's own session, which ends with it.
struct run_verb {
  open_options place;
  std::optional<std::string> root;
  run_options how;
  bool copy = false;
  void describe(options& o) {
    o.word("--backend", place.backend, {"bwrap", "docker", "podman", "none"}, "What the sandbox is made with");
    o.text("--profile", place.profile, "A profile of the daemon's configuration", "NAME");
    o.text("--image", place.image, "Image of a container backend");
    o.text("--network", place.network, "none, host, bridge, name=NETWORK or allow=NAME,…", "NETWORK");
    o.texts("--mount", place.mounts, "A further host directory or file, read-only", "SOURCE[=TARGET]");
    o.texts("--mount-rw", place.writable_mounts, "The same, writable", "SOURCE[=TARGET]");
    o.text("--root", root, "The directory (default: the current one)", "DIR");
    o.flag("--copy", copy, "Work in a private copy, which is removed");
    how.describe(o);
  }
  int run(app& a) {
    auto link = a.connect();
    if (!link) return a.print_failure(link.error(), exit_unavailable);
    auto params = place.params();
    if (!params) return a.print_failure(params.error(), exit_unavailable);
    const proto::c_bytes directory(absolute_path(root.value_or(".")));
    if (copy)
      params->copy_of = directory;
    else
      params->roots.emplace().push_back(directory);
    auto opened = (*link)->call<proto::workspace_open>(*params);
    if (!opened) return a.print_failure(opened.error(), exit_unavailable);
    const int code = how.run_in(a, **link, opened->value);
    proto::workspace_params closing;
    closing.workspace = opened->value.workspace;
    if (auto closed = (*link)->call<proto::workspace_close>(closing); !closed) a.print_failure(closed.error());
    return code;
  }
};

struct shell_verb {
  where_options where;
  command_options command;
  void describe(options& o) {
    where.describe(o);
    command.describe(o, 0);
  }
  int run(app& a) {
    auto workspace = where.find(a);
    if (!workspace) return a.print_failure(workspace.error(), exit_unavailable);
    auto link = a.attach();
    if (!link) return a.print_failure(link.error(), exit_unavailable);
    proto::pty_open_params params;
    if (auto filled = command.fill(params, *workspace); !filled)
      return a.print_failure(filled.error(), exit_unavailable);
    if (command.words.empty()) {
      params.argv.reset();
      params.command = "exec \"$0\" -i";  // the shell that runs the line, interactive
    }
    return run_on_terminal(a, **link, std::move(params));
  }
};

}  // namespace

void add_exec_verbs(std::vector<verb>& to) {
  const std::string codes =
      "Exits with the command's own code (128 + n after signal n), or 124 timed out, 125 no daemon or sandbox, 126 not "
      "executable, 127 not found. ^C reaches the command; a second ^C cancels it.";
  to.push_back(make_verb<exec_verb>("Commands", "exec", "Run a command in a workspace",
                                    "Runs a command in a workspace. " + codes, exit_unavailable));
  to.push_back(make_verb<run_verb>("Commands", "run", "Run a command in a throw-away workspace",
                                   "Runs a command in a throw-away workspace on the current directory. " + codes,
                                   exit_unavailable));
  to.push_back(make_verb<shell_verb>("Commands", "shell", "An interactive shell in a workspace",
                                     "Starts an interactive shell in a workspace, or the command given, on a terminal. "
                                     "ctrl-p ctrl-q leaves it running; `sbxctl attach` returns to it.",
                                     exit_unavailable));
}

}  // namespace sbx::client
