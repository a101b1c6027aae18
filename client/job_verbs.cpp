// job start|ls|collect|read|follow|wait|write|signal|stop.
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "client/app.hpp"
#include "client/common_options.hpp"
#include "client/verbs.hpp"
#include "client/work_verbs.hpp"
#include "proto/methods/job.hpp"

namespace sbx::client {
namespace {

struct start_verb {
  where_options where;
  command_options command;
  std::optional<std::int64_t> timeout_ms, grace_ms, retain_bytes;
  std::optional<std::string> key, retain;
  bool keep_stdin = false, split = false;
  void describe(options& o) {
    where.describe(o);
    o.flag("-i,--stdin", keep_stdin, "Keep a pipe for `job write`");
    o.flag("--split", split, "Keep stderr in a log of its own");
    o.size("--retain-bytes", retain_bytes, "How much output is kept");
    o.word("--retain", retain, {"tail", "head"}, "Which end of the output is kept");
    o.duration("--timeout", timeout_ms, "Not done by then: TERM, then KILL, to the whole tree");
    o.duration("--grace", grace_ms, "Between TERM and KILL");
    o.text("--key", key, "The same again is the same job, never a second start");
    command.describe(o);
  }
  int run(app& a) {
    auto workspace = where.find(a);
    if (!workspace) return a.print_failure(workspace.error(), exit_unavailable);
    proto::job_start_params params;
    if (auto filled = command.fill(params, *workspace); !filled) return a.print_failure(filled.error());
    params.keep_stdin = keep_stdin;
    if (split) params.streams = proto::job_streams::split;
    if (retain == "head") params.retain = proto::retain_rule::head;
    if (grace_ms) params.grace_ms = *grace_ms;
    params.retain_bytes = retain_bytes;
    params.timeout_ms = timeout_ms;
    params.key = key;
    auto answer = a.ask<proto::job_start>(params);
    if (!answer) return a.print_failure(answer.error());
    return a.json() ? a.print_json(*answer->raw) : a.print(answer->value.job + "\n");
  }
};

struct list_verb {
  void describe(options&) {}
  int run(app& a) {
    auto answer = a.ask<proto::job_list>({});
    if (!answer) return a.print_failure(answer.error());
    if (a.json()) return a.print_json(*answer->raw);
    table rows({"JOB", "STATUS", "STARTED", "OUTPUT", "COMMAND"});
    for (const auto& one : answer->value.jobs)
      rows.add({one.job, status_words(one.status, one.exit), one.started_at, format_size(one.total_bytes),
                command_words(one.command, one.argv)});
    return a.print(rows.render(a.colour()));
  }
};

struct collect_verb {
  std::vector<std::string> words;
  void describe(options& o) { o.words(words, "JOB", 1, 1); }
  int run(app& a) {
    proto::job_collect_params params;
    params.job = words.front();
    while (true) {
      auto answer = a.ask<proto::job_collect>(params);
      if (!answer) return a.print_failure(answer.error());
      if (a.json()) return a.print_json(*answer->raw);
      const auto& part = answer->value;
      if (part.truncated) a.note("output was lost: " + format_size(part.dropped_bytes) + ".");
      if (!write_to(STDOUT_FILENO, part.content.bytes)) return exit_error;
      if (part.err && !write_to(STDERR_FILENO, part.err->content.bytes)) return exit_error;
      if (!part.more && !(part.err && part.err->more)) return 0;
    }
  }
};

struct read_verb {
  std::vector<std::string> words;
  log_window window;
  std::optional<std::string> stream;
  void describe(options& o) {
    window.describe(o);
    o.word("--stream", stream, {"stdout", "stderr"}, "Of a split job");
    o.words(words, "JOB", 1, 1);
  }
  int run(app& a) {
    proto::job_read_params params;
    params.job = words.front();
    params.window = window.window();
    if (stream == "stderr") params.stream = proto::stream_name::err;
    return show_read(a, a.ask<proto::job_read>(params));
  }
};

struct follow_verb {
  std::vector<std::string> words;
  std::optional<std::int64_t> offset;
  void describe(options& o) {
    o.number("--offset", offset, "Where to begin (default: the oldest output kept)", "BYTES");
    o.words(words, "JOB", 1, 1);
  }
  int run(app& a) {
    auto link = a.attach();
    if (!link) return a.print_failure(link.error());
    proto::job_follow_params params;
    params.job = words.front();
    if (offset) params.offset = *offset;
    std::optional<proto::exit_info> end;
    bool closed = false, writable = true;
    (*link)->on_note([&](const proto::call& note) { take(a, note, end, closed, writable); });
    if (auto answer = (*link)->call<proto::job_follow>(params); !answer) return a.print_failure(answer.error());
    while (!closed && writable) {
      if (auto one = (*link)->next()) {
        if (const auto* note = std::get_if<proto::call>(&*one)) take(a, *note, end, closed, writable);
      } else if (auto came = (*link)->receive(); !came) {
        return a.print_failure(came.error());
      }
    }
    if (!end) return exit_error;
    if (const std::string text = describe_end(*end); !text.empty()) a.note(text);
    return exit_code_of(*end);
  }

 private:
  void take(app& a, const proto::call& note, std::optional<proto::exit_info>& end, bool& closed, bool& writable) const {
    if (!note.params) return;
    constexpr auto skip = proto::unknown_members::skip;
    if (note.method == proto::job_output_note::name) {
      const auto told = proto::decode<proto::job_output_note>(*note.params, skip);
      if (!told || told->job != words.front()) return;
      if (told->lost_bytes > 0) a.note("output was lost: " + format_size(told->lost_bytes) + ".");
      writable &=
          write_to(told->stream == proto::stream_name::out ? STDOUT_FILENO : STDERR_FILENO, told->content.bytes);
    } else if (note.method == proto::job_exited_note::name) {
      auto told = proto::decode<proto::job_exited_note>(*note.params, skip);
      if (told && told->job == words.front()) end = std::move(told->exit);
    } else if (note.method == proto::job_closed_note::name) {
      const auto told = proto::decode<proto::job_closed_note>(*note.params, skip);
      closed |= told && told->job == words.front();
    }
  }
};

struct wait_verb {
  std::vector<std::string> words;
  std::optional<std::int64_t> timeout_ms;
  void describe(options& o) {
    o.duration("--timeout", timeout_ms, "Wait no longer (exits with 124)");
    o.words(words, "JOB", 1, 1);
  }
  int run(app& a) {
    proto::job_wait_params params;
    params.job = words.front();
    params.timeout_ms = timeout_ms;
    return show_wait(a, a.ask<proto::job_wait>(params));
  }
};

struct write_verb {
  std::vector<std::string> words;
  bool eof = false;
  void describe(options& o) {
    o.flag("--eof", eof, "Close its stdin afterwards");
    o.words(words, "JOB [TEXT]", 1, 2);
  }
  int run(app& a) {
    return write_input(
        a, words,
        [&](std::string bytes, bool last) {
          proto::job_write_params params;
          params.job = words.front();
          params.content = proto::payload(std::move(bytes), proto::encoding::base64);
          params.eof = eof && last;
          params.wait_ms = 60'000;
          return a.ask<proto::job_write>(params);
        },
        eof);
  }
};

struct signal_verb {
  std::vector<std::string> words;
  bool leader = false;
  void describe(options& o) {
    o.flag("--leader", leader, "Only its first process (else the whole tree)");
    o.words(words, "JOB SIGNAL", 2, 2);
  }
  int run(app& a) {
    proto::job_signal_params params;
    params.job = words[0];
    params.signal = signal_name(words[1]);
    if (leader) params.target = proto::signal_target::leader;
    auto answer = a.ask<proto::job_signal>(params);
    if (!answer) return a.print_failure(answer.error());
    return a.json() ? a.print_json(*answer->raw) : 0;
  }
};

struct stop_verb {
  std::vector<std::string> words;
  std::optional<std::int64_t> grace_ms;
  void describe(options& o) {
    o.duration("--grace", grace_ms, "Between TERM and KILL");
    o.words(words, "JOB", 1, 1);
  }
  int run(app& a) {
    proto::job_stop_params params;
    params.job = words.front();
    params.grace_ms = grace_ms;
    auto answer = a.ask<proto::job_stop>(params);
    if (!answer) return a.print_failure(answer.error());
    if (a.json()) return a.print_json(*answer->raw);
    return a.print(status_words(answer->value.status, answer->value.exit) + "\n");
  }
};

}  // namespace

void add_job_verbs(std::vector<verb>& to) {
  const std::string group = "Jobs";
  to.push_back(
      make_verb<start_verb>(group, "job start", "Start a command that outlives the call", {}, exit_unavailable));
  to.push_back(make_verb<list_verb>(group, "job ls", "List the jobs"));
  to.push_back(make_verb<collect_verb>(group, "job collect", "Print what was not collected yet"));
  to.push_back(make_verb<read_verb>(group, "job read", "Print output from an offset"));
  to.push_back(make_verb<follow_verb>(group, "job follow", "Print output as it comes; exit as the job does"));
  to.push_back(make_verb<wait_verb>(group, "job wait", "Wait for the end; exit as the job did"));
  to.push_back(make_verb<write_verb>(group, "job write", "Write a text, or stdin, to its stdin"));
  to.push_back(make_verb<signal_verb>(group, "job signal", "Send a signal"));
  to.push_back(make_verb<stop_verb>(group, "job stop", "End every process of it"));
}

}  // namespace sbx::client
