// ping, info, doctor, stats, call.
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "client/app.hpp"
#include "client/verbs.hpp"
#include "proto/catalog.hpp"
#include "proto/json_text.hpp"
#include "proto/methods/system.hpp"

namespace sbx::client {
namespace {

std::string paint(bool colour, const char* code, std::string_view text) {
  return colour ? "\033[" + std::string(code) + "m" + std::string(text) + "\033[0m" : std::string(text);
}

struct ping_verb {
  void describe(options&) {}
  int run(app& a) {
    if (auto link = a.connect(); !link) return a.print_failure(link.error());
    const auto start = std::chrono::steady_clock::now();
    auto answer = a.ask<proto::system_ping>({});
    if (!answer) return a.print_failure(answer.error());
    if (a.json()) return a.print_json(*answer->raw);
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start);
    return a.print("pong in " + std::to_string(took.count()) + " µs\n");
  }
};

struct info_verb {
  void describe(options&) {}
  int run(app& a) {
    auto answer = a.ask<proto::system_info>({});
    if (!answer) return a.print_failure(answer.error());
    if (a.json()) return a.print_json(*answer->raw);
    const auto& info = answer->value;
    std::string out = "sbxd " + info.version + ", protocol " + std::to_string(info.protocol) + ", pid " +
                      std::to_string(info.pid) + ", up " + format_duration(info.uptime_ms) + "\n\n";
    table backends({"BACKEND", "", "VERSION", "WHY NOT", "REMEDY"});
    for (const auto& [name, one] : info.backends)
      backends.add({name, one.available ? "available" : "not available", printable(one.version.value_or("")),
                    printable(one.cause.value_or("")), printable(one.remedy.value_or(""))});
    table features({"FEATURE", "", "WHY NOT"});
    for (const auto& [name, one] : info.features) {
      const bool is_enforced = one.enforced.has_value();
      const bool yes = is_enforced ? *one.enforced : one.available.value_or(false);
      features.add({name, std::string(yes ? "" : "not ") + (is_enforced ? "enforced" : "available"),
                    printable(one.reason.value_or(""))});
    }
    return a.print(out + backends.render(a.colour()) + "\n" + features.render(a.colour()));
  }
};

struct doctor_verb {
  void describe(options&) {}
  int run(app& a) {
    auto answer = a.ask<proto::system_doctor>({});
    if (!answer) return a.print_failure(answer.error());
    bool failed = false;
    for (const auto& check : answer->value.checks) failed |= check.status == proto::check_status::fail;
    if (a.json()) {
      const int printed = a.print_json(*answer->raw);
      return failed ? exit_error : printed;
    }
    constexpr const char* codes[] = {"32", "33", "31"};
    std::string out;
    for (const auto& check : answer->value.checks) {
      const auto status = proto::word(check.status);
      out += paint(a.colour(), codes[static_cast<int>(check.status)], status) + std::string(6 - status.size(), ' ') +
             printable(check.name) + ": " + printable(check.detail) + "\n";
      if (check.remedy && !check.remedy->empty()) out += "      remedy: " + printable(*check.remedy) + "\n";
    }
    const int printed = a.print(out);
    return failed ? exit_error : printed;
  }
};

struct stats_verb {
  void describe(options&) {}
  int run(app& a) {
    auto answer = a.ask<proto::system_stats>({});
    if (!answer) return a.print_failure(answer.error());
    if (a.json()) return a.print_json(*answer->raw);
    table rows({"COUNTER", "VALUE"});
    for (const auto& [name, value] : answer->raw->items()) {
      std::string shown = value.dump(-1, ' ', false, proto::json::error_handler_t::replace);
      if (value.is_number_integer() && name.ends_with("_ms")) shown = format_duration(value.get<std::int64_t>());
      if (value.is_number_integer() && (name.ends_with("_bytes") || name == "bytes_drained"))
        shown = format_size(value.get<std::int64_t>());
      rows.add({printable(name), shown});
    }
    return a.print(rows.render(a.colour()));
  }
};

outcome<std::string> read_params(const std::string& given) {
  std::string text = given;
  if (given == "-") {
    text.clear();
    char bytes[65536];
    ssize_t size;
    while ((size = ::read(STDIN_FILENO, bytes, sizeof(bytes))) > 0) text.append(bytes, static_cast<std::size_t>(size));
  }
  proto::json value;
  if (proto::parse_json(text, 64, value) != proto::text_verdict::ok)
    return fail(exit_usage, "The parameters are not JSON (or nested more than 64 levels deep).");
  if (!value.is_object()) return fail(exit_usage, "The parameters must be a JSON object.");
  return value.dump();
}

struct call_verb {
  bool list = false;
  std::vector<std::string> words;
  void describe(options& o) {
    o.flag("-l,--list", list, "List the methods instead");
    o.words(words, "METHOD [JSON]", 0, 2);
  }
  int run(app& a) {
    if (list) {
      table rows({"METHOD", ""});
      for (const auto& method : proto::method_catalog())
        rows.add({std::string(method.name), std::string(method.summary)});
      return a.print(rows.render(a.colour()));
    }
    if (words.empty())
      return a.print_failure(failure(exit_usage, "Which method is meant?", "`sbxctl call --list` names them"));
    auto params = read_params(words.size() > 1 ? words[1] : "{}");
    if (!params) return a.print_failure(params.error());
    auto answer = a.ask_raw(words[0], *params);
    if (!answer) return a.print_failure(answer.error());
    return a.print_json(**answer);
  }
};

}  // namespace

void add_system_verbs(std::vector<verb>& to) {
  to.push_back(make_verb<ping_verb>("Daemon", "ping", "See whether the daemon answers"));
  to.push_back(make_verb<info_verb>("Daemon", "info", "What the daemon is and can do here"));
  to.push_back(make_verb<doctor_verb>("Daemon", "doctor", "Look for what keeps sandboxes from working"));
  to.push_back(make_verb<stats_verb>("Daemon", "stats", "Counters and gauges"));
  to.push_back(
      make_verb<call_verb>("Daemon", "call", "Call any method",
                           "Calls a method with parameters given as a JSON object (`-` reads them from stdin) and "
                           "prints its result as JSON."));
}

}  // namespace sbx::client
