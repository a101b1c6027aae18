// attach, and pty open|ls|read|write|resize|signal|wait|close.
#include <charconv>
#include <nlohmann/json.hpp>

#include "client/attach.hpp"
#include "client/common_options.hpp"
#include "client/terminal.hpp"
#include "client/verbs.hpp"
#include "client/work_verbs.hpp"

namespace sbx::client {
namespace {

struct attach_verb {
  std::vector<std::string> words;
  void describe(options& o) { o.words(words, "PTY", 1, 1); }
  int run(app& a) {
    auto link = a.attach();
    if (!link) return a.print_failure(link.error());
    return attach_terminal(a, **link, words.front());
  }
};

struct open_verb {
  where_options where;
  command_options command;
  std::optional<std::int64_t> rows, cols, retain_bytes, grace_ms;
  std::optional<std::string> term;
  void describe(options& o) {
    where.describe(o);
    o.number("--rows", rows, "Height");
    o.number("--cols", cols, "Width");
    o.text("--term", term, "TERM inside", "NAME");
    o.size("--retain-bytes", retain_bytes, "How much output is kept");
    o.duration("--grace", grace_ms, "Between TERM and KILL");
    command.describe(o);
  }
  int run(app& a) {
    auto workspace = where.find(a);
    if (!workspace) return a.print_failure(workspace.error(), exit_unavailable);
    proto::pty_open_params params;
    if (auto filled = command.fill(params, *workspace); !filled) return a.print_failure(filled.error());
    if (const auto screen = current_screen()) {
      params.rows = screen->rows;
      params.cols = screen->cols;
    }
    if (rows) params.rows = *rows;
    if (cols) params.cols = *cols;
    if (term) params.term = *term;
    if (grace_ms) params.grace_ms = *grace_ms;
    params.retain_bytes = retain_bytes;
    auto answer = a.ask<proto::pty_open>(params);
    if (!answer) return a.print_failure(answer.error());
    return a.json() ? a.print_json(*answer->raw) : a.print(answer->value.pty + "\n");
  }
};

struct list_verb {
  void describe(options&) {}
  int run(app& a) {
    auto answer = a.ask<proto::pty_list>({});
    if (!answer) return a.print_failure(answer.error());
    if (a.json()) return a.print_json(*answer->raw);
    table rows({"PTY", "STATUS", "SIZE", "STARTED", "COMMAND"});
    for (const auto& one : answer->value.ptys)
      rows.add({one.pty, status_words(one.status, one.exit), std::to_string(one.cols) + "x" + std::to_string(one.rows),
                one.started_at, command_words(one.command, one.argv)});
    return a.print(rows.render(a.colour()));
  }
};

struct read_verb {
  std::vector<std::string> words;
  log_window window;
  void describe(options& o) {
    window.describe(o);
    o.words(words, "PTY", 1, 1);
  }
  int run(app& a) {
    proto::pty_read_params params;
    params.pty = words.front();
    params.window = window.window();
    return show_read(a, a.ask<proto::pty_read>(params));
  }
};

struct write_verb {
  std::vector<std::string> words;
  void describe(options& o) { o.words(words, "PTY [TEXT]", 1, 2); }
  int run(app& a) {
    return write_input(
        a, words,
        [&](std::string bytes, bool) {
          proto::pty_write_params params;
          params.pty = words.front();
          params.content = proto::payload(std::move(bytes), proto::encoding::base64);
          params.wait_ms = 60'000;
          return a.ask<proto::pty_write>(params);
        },
        false);
  }
};

outcome<std::int64_t> parse_extent(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= 1 && value <= 65535) return value;
  return fail(exit_usage, shell_quote(text) + " is not a number from 1 to 65535.");
}

struct resize_verb {
  std::vector<std::string> words;
  void describe(options& o) { o.words(words, "PTY ROWS COLS", 3, 3); }
  int run(app& a) {
    const auto rows = parse_extent(words[1]), cols = parse_extent(words[2]);
    if (!rows) return a.print_failure(rows.error());
    if (!cols) return a.print_failure(cols.error());
    proto::pty_resize_params params;
    params.pty = words[0];
    params.rows = *rows;
    params.cols = *cols;
    auto answer = a.ask<proto::pty_resize>(params);
    if (!answer) return a.print_failure(answer.error());
    return a.json() ? a.print_json(*answer->raw) : 0;
  }
};

struct signal_verb {
  std::vector<std::string> words;
  bool leader = false;
  void describe(options& o) {
    o.flag("--leader", leader, "Only its first process (else the whole tree)");
    o.words(words, "PTY SIGNAL", 2, 2);
  }
  int run(app& a) {
    proto::pty_signal_params params;
    params.pty = words[0];
    params.signal = signal_name(words[1]);
    if (leader) params.target = proto::signal_target::leader;
    auto answer = a.ask<proto::pty_signal>(params);
    if (!answer) return a.print_failure(answer.error());
    return a.json() ? a.print_json(*answer->raw) : 0;
  }
};

struct wait_verb {
  std::vector<std::string> words;
  std::optional<std::int64_t> timeout_ms;
  void describe(options& o) {
    o.duration("--timeout", timeout_ms, "Wait no longer (exits with 124)");
    o.words(words, "PTY", 1, 1);
  }
  int run(app& a) {
    proto::pty_wait_params params;
    params.pty = words.front();
    params.timeout_ms = timeout_ms;
    return show_wait(a, a.ask<proto::pty_wait>(params));
  }
};

struct close_verb {
  std::vector<std::string> words;
  std::optional<std::int64_t> grace_ms;
  void describe(options& o) {
    o.duration("--grace", grace_ms, "Between TERM and KILL");
    o.words(words, "PTY", 1, 1);
  }
  int run(app& a) {
    proto::pty_close_params params;
    params.pty = words.front();
    params.grace_ms = grace_ms;
    auto answer = a.ask_raw(proto::pty_close::name, proto::encode_text(params));
    if (!answer) return a.print_failure(answer.error());
    return a.json() ? a.print_json(**answer) : 0;
  }
};

}  // namespace

void add_pty_verbs(std::vector<verb>& to) {
  const std::string group = "Terminals";
  to.push_back(
      make_verb<attach_verb>(group, "attach", "Attach to a terminal (ctrl-p ctrl-q leaves it)", {}, exit_unavailable));
  to.push_back(
      make_verb<open_verb>(group, "pty open", "Start a command on a terminal of its own", {}, exit_unavailable));
  to.push_back(make_verb<list_verb>(group, "pty ls", "List the terminals"));
  to.push_back(make_verb<read_verb>(group, "pty read", "Print output from an offset"));
  to.push_back(make_verb<write_verb>(group, "pty write", "Type a text, or stdin"));
  to.push_back(make_verb<resize_verb>(group, "pty resize", "Change its size"));
  to.push_back(make_verb<signal_verb>(group, "pty signal", "Send a signal"));
  to.push_back(make_verb<wait_verb>(group, "pty wait", "Wait for the end; exit as the command did"));
  to.push_back(make_verb<close_verb>(group, "pty close", "Hang up, end every process of it, forget it"));
}

}  // namespace sbx::client
