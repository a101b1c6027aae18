// ws open|ls|get|start|restart|close|ps.
#include <nlohmann/json.hpp>

#include "client/app.hpp"
#include "client/common_options.hpp"
#include "client/verbs.hpp"

namespace sbx::client {
namespace {

std::string roots_of(const proto::workspace_entry& one) {
  std::string out;
  for (const auto& root : one.roots) out += (out.empty() ? "" : " ") + printable(root.value);
  return out;
}

std::string network_of(const proto::network_choice& network) {
  std::string text;
  proto::network_choice::encode_json(network, text);
  return text.starts_with('"') ? text.substr(1, text.size() - 2) : printable(text);
}

std::string detail(const proto::workspace_entry& one) {
  std::string out;
  const auto line = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) out += std::string(name) + std::string(12 - name.size(), ' ') + value + "\n";
  };
  line("workspace", one.workspace);
  line("name", printable(one.name.value_or("")));
  line("roots", roots_of(one));
  line("backend",
       std::string(proto::word(one.backend)) + (one.isolated ? "" : " (nothing keeps its processes from the host)"));
  line("image", printable(one.image.value_or("")));
  line("state", std::string(proto::word(one.state)));
  line("network", network_of(one.network));
  std::string limits = proto::encode_text(one.limits);
  line("limits", limits == "{}" ? "" : limits);
  line("generation", std::to_string(one.sandbox.generation));
  line("started", one.sandbox.started_at.value_or(""));
  line("pid", one.sandbox.pid ? std::to_string(*one.sandbox.pid) : "");
  line("container", printable(one.sandbox.container.value_or("")));
  return out;
}

int show(app& a, const outcome<reply<proto::workspace_entry>>& answer) {
  if (!answer) return a.print_failure(answer.error());
  return a.json() ? a.print_json(*answer->raw) : a.print(detail(answer->value));
}

struct open_verb {
  open_options how;
  std::vector<std::string> roots;
  std::optional<std::string> copy_of;
  bool keep = false;
  void describe(options& o) {
    how.describe(o);
    o.text("--copy-of", copy_of, "Work in a private copy of this directory", "DIR");
    o.flag("--keep", keep, "Leave the copy when the workspace is closed");
    o.words(roots, "[DIR…]", 0, 64);
  }
  int run(app& a) {
    auto params = how.params();
    if (!params) return a.print_failure(params.error());
    if (copy_of && !roots.empty())
      return a.print_failure(failure(exit_usage, "Either directories or --copy-of can be given, not both."));
    params->keep = keep;
    if (copy_of) {
      params->copy_of.emplace(absolute_path(*copy_of));
    } else {
      params->roots.emplace();
      if (roots.empty()) roots.emplace_back(".");
      for (const auto& root : roots) params->roots->emplace_back(absolute_path(root));
    }
    auto answer = a.ask<proto::workspace_open>(*params);
    if (!answer || a.json()) return show(a, answer);
    const auto& one = answer->value;
    return a.print(one.workspace + "  " + std::string(proto::word(one.backend)) + "  " +
                   std::string(proto::word(one.state)) + "  " + roots_of(one) + "\n");
  }
};

struct list_verb {
  void describe(options&) {}
  int run(app& a) {
    auto answer = a.ask<proto::workspace_list>({});
    if (!answer) return a.print_failure(answer.error());
    if (a.json()) return a.print_json(*answer->raw);
    table rows({"WORKSPACE", "NAME", "BACKEND", "STATE", "ROOTS"});
    for (const auto& one : answer->value.workspaces)
      rows.add({one.workspace, printable(one.name.value_or("")), std::string(proto::word(one.backend)),
                std::string(proto::word(one.state)), roots_of(one)});
    return a.print(rows.render(a.colour()));
  }
};

// Verbs on one workspace: the one named, or the one that holds the current directory.
struct one_workspace {
  std::vector<std::string> words;
  void describe(options& o) { o.words(words, "[WS]", 0, 1); }
  outcome<proto::workspace_params> find(app& a) {
    auto found = a.workspace(words.empty() ? std::nullopt : std::optional(words.front()));
    if (!found) return fail(std::move(found.error()));
    proto::workspace_params params;
    params.workspace = found->workspace;
    return params;
  }
};

template <class Method>
struct entry_verb : one_workspace {
  int run(app& a) {
    auto params = find(a);
    if (!params) return a.print_failure(params.error());
    return show(a, a.ask<Method>(*params));
  }
};

struct close_verb : one_workspace {
  int run(app& a) {
    auto params = find(a);
    if (!params) return a.print_failure(params.error());
    auto answer = a.ask<proto::workspace_close>(*params);
    if (!answer) return a.print_failure(answer.error());
    if (a.json()) return a.print_json(*answer->raw);
    return a.print(std::string(answer->value.ended ? "closed" : "closed here; other sessions hold it") +
                   (answer->value.removed ? ", its copy removed" : "") + "\n");
  }
};

struct processes_verb : one_workspace {
  int run(app& a) {
    auto params = find(a);
    if (!params) return a.print_failure(params.error());
    auto answer = a.ask<proto::workspace_processes>(*params);
    if (!answer) return a.print_failure(answer.error());
    if (a.json()) return a.print_json(*answer->raw);
    table rows({"PID", "PPID", "S", "RSS", "CPU", "JOB", "COMMAND"});
    for (const auto& one : answer->value.processes) {
      std::string command;
      for (const auto& word : one.argv.value_or(std::vector<proto::c_bytes>()))
        command += (command.empty() ? "" : " ") + printable(shell_quote(word.value));
      rows.add({std::to_string(one.pid), std::to_string(one.ppid), printable(one.state), format_size(one.rss_bytes),
                format_duration(one.cpu_ms), one.job.value_or(""), command});
    }
    return a.print(rows.render(a.colour()));
  }
};

}  // namespace

void add_workspace_verbs(std::vector<verb>& to) {
  const std::string group = "Workspaces";
  to.push_back(make_verb<open_verb>(group, "ws open", "Open directories (default: the current one) as a workspace"));
  to.push_back(make_verb<list_verb>(group, "ws ls", "List the open workspaces"));
  to.push_back(make_verb<entry_verb<proto::workspace_get>>(group, "ws get", "Show a workspace"));
  to.push_back(make_verb<entry_verb<proto::workspace_start>>(group, "ws start", "Start its sandbox now"));
  to.push_back(make_verb<entry_verb<proto::workspace_restart>>(group, "ws restart", "End every process in it"));
  to.push_back(make_verb<close_verb>(group, "ws close", "Give it up; the last to do so ends its sandbox"));
  to.push_back(make_verb<processes_verb>(group, "ws ps", "List the processes in it"));
}

}  // namespace sbx::client
