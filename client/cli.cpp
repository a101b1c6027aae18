// The one place that knows the command line parser.
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iostream>

#include "client/app.hpp"
#include "client/verbs.hpp"

namespace sbx::client {
namespace {

// Turns what a verb says into options of a parser.
class cli_options final : public options {
 public:
  explicit cli_options(CLI::App& parser) : parser_(parser) { parser_.allow_extras(); }

  void flag(const std::string& names, bool& into, const std::string& help) override {
    parser_.add_flag(names, into, help);
  }
  void text(const std::string& names, std::optional<std::string>& into, const std::string& help,
            const std::string& type) override {
    one(names, help, type, [&into](const std::string& given) { into = given; });
  }
  void texts(const std::string& names, std::vector<std::string>& into, const std::string& help,
             const std::string& type) override {
    const auto take = [&into](const CLI::results_t& given) {
      into.insert(into.end(), given.begin(), given.end());
      return true;
    };
    parser_.add_option(names, take, help)
        ->type_name(type)
        ->type_size(1)
        ->expected(1)
        ->take_all()
        ->allow_extra_args(false);
  }
  void number(const std::string& names, std::optional<std::int64_t>& into, const std::string& help,
              const std::string& type) override {
    parsed(names, into, help, type, "a whole number", [](std::string_view text) -> std::optional<std::int64_t> {
      std::int64_t value = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
      return value;
    });
  }
  void duration(const std::string& names, std::optional<std::int64_t>& into, const std::string& help) override {
    parsed(names, into, help, "TIME", "a time such as 10, 0.5, 500ms or 2m", parse_duration);
  }
  void size(const std::string& names, std::optional<std::int64_t>& into, const std::string& help) override {
    parsed(names, into, help, "SIZE", "a size such as 4096, 64k or 2G", parse_size);
  }
  void word(const std::string& names, std::optional<std::string>& into, const std::vector<std::string>& words,
            const std::string& help) override {
    std::string all;
    for (const auto& one : words) all += (all.empty() ? "" : "|") + one;
    one(names, help, all, [&into, words, names](const std::string& given) {
      if (std::find(words.begin(), words.end(), given) == words.end())
        throw CLI::ValidationError(names, shell_quote(given) + " is none of them");
      into = given;
    });
  }
  void words(std::vector<std::string>& into, const std::string& usage, std::size_t min, std::size_t max) override {
    words_ = &into;
    usage_ = usage;
    min_ = min;
    max_ = max;
  }
  void command(std::vector<std::string>& into, const std::string& usage, std::size_t min) override {
    words(into, usage, min, SIZE_MAX);
    parser_.allow_extras(false);
    parser_.prefix_command();
  }

  const std::string& usage() const { return usage_; }

  // Hands out the words that were left, and those behind "--".
  void finish(const std::vector<std::string>& tail) {
    std::vector<std::string> left = parser_.remaining();
    if (parser_.get_prefix_command() ? !left.empty() && is_option(left.front())
                                     : std::any_of(left.begin(), left.end(), is_option))
      throw CLI::ExtrasError({*std::find_if(left.begin(), left.end(), is_option)});
    left.insert(left.end(), tail.begin(), tail.end());
    if (left.size() < min_) throw CLI::RequiredError(usage_.empty() ? "an argument" : usage_);
    if (left.size() > max_) throw CLI::ExtrasError({left[max_]});
    if (words_) *words_ = std::move(left);
  }

 private:
  static bool is_option(const std::string& word) { return word.size() > 1 && word.front() == '-'; }

  template <class Take>
  void one(const std::string& names, const std::string& help, const std::string& type, Take take) {
    parser_
        .add_option(
            names,
            [take](const CLI::results_t& given) {
              take(given.back());
              return true;
            },
            help)
        ->type_name(type)
        ->type_size(1)
        ->expected(1)
        ->take_last();
  }
  template <class Parse>
  void parsed(const std::string& names, std::optional<std::int64_t>& into, const std::string& help,
              const std::string& type, const std::string& expected, Parse parse) {
    one(names, help, type, [&into, names, expected, parse](const std::string& given) {
      into = parse(given);
      if (!into) throw CLI::ValidationError(names, shell_quote(given) + " is not " + expected);
    });
  }

  CLI::App& parser_;
  std::vector<std::string>* words_ = nullptr;
  std::string usage_;
  std::size_t min_ = 0, max_ = 0;
};

// Says the verb's own words after its options.
class usage_formatter final : public CLI::Formatter {
 public:
  explicit usage_formatter(std::string usage) : usage_(std::move(usage)) { column_width(32); }
  std::string make_usage(const CLI::App*, std::string) const override { return "Usage: " + usage_ + "\n"; }

 private:
  std::string usage_;
};

void add_globals(CLI::App& parser, global_options& into) {
  parser
      .add_option_function<std::string>(
          "--socket", [&into](const std::string& path) { into.socket = path; }, "The daemon's socket [$SBX_SOCKET]")
      ->type_name("PATH");
  parser.add_flag("--json", into.json, "JSON for machines instead of tables for people");
}

std::string overview(const std::vector<verb>& verbs) {
  std::string out =
      "sbxctl — work in sandboxed workspaces of sbxd\n\n"
      "Usage: sbxctl [--socket PATH] [--json] VERB [OPTIONS] …\n"
      "       sbxctl VERB --help\n\n"
      "  sbxctl ws open .             make this directory a workspace\n"
      "  sbxctl exec -- make test     run a command in it\n"
      "  sbxctl shell                 an interactive shell in it\n"
      "  sbxctl run -- CMD            once, in a throw-away workspace\n";
  std::string group;
  std::size_t width = 0;
  for (const auto& one : verbs) width = std::max(width, one.name.size());
  for (const auto& one : verbs) {
    if (one.group != group) out += "\n" + one.group + ":\n";
    group = one.group;
    out += "  " + one.name + std::string(width + 2 - one.name.size(), ' ') + one.summary + "\n";
  }
  return out +
         "\nOptions:\n"
         "  --socket PATH  the daemon's socket [$SBX_SOCKET, else sbxd/sbxd.sock in $XDG_RUNTIME_DIR]\n"
         "  --json         JSON for machines instead of tables for people\n"
         "  --version      print the version\n"
         "  --help         print this\n";
}

std::string group_overview(const std::vector<verb>& verbs, const std::string& first) {
  std::string out;
  for (const auto& one : verbs)
    if (one.name.starts_with(first + " "))
      out += "  sbxctl " + one.name + std::string(20 - std::min<std::size_t>(19, one.name.size()), ' ') + one.summary +
             "\n";
  return out;
}

int usage_error(const std::string& what, const std::string& verb_name, int exit_code) {
  std::string message = what;
  while (!message.empty() && (message.back() == '\n' || message.back() == '.')) message.pop_back();
  std::cerr << "sbxctl: " << message << "; see `sbxctl " << (verb_name.empty() ? "" : verb_name + " ") << "--help`.\n";
  return exit_code;
}

// The verb that the first one or two words name, and how many words that took.
std::pair<const verb*, std::size_t> find_verb(const std::vector<verb>& verbs, const std::vector<std::string>& words) {
  for (std::size_t count = std::min<std::size_t>(2, words.size()); count > 0; --count) {
    const std::string name = count == 2 ? words[0] + " " + words[1] : words[0];
    for (const auto& one : verbs)
      if (one.name == name) return {&one, count};
  }
  return {nullptr, 0};
}

int run_verb(const verb& chosen, std::vector<std::string> words, const std::vector<std::string>& tail,
             global_options globals) {
  CLI::App parser(chosen.description.empty() ? chosen.summary + "." : chosen.description);
  cli_options declared(parser);
  add_globals(parser, globals);
  const auto run = chosen.prepare(declared);
  parser.formatter(std::make_shared<usage_formatter>("sbxctl " + chosen.name + " [OPTIONS] " + declared.usage()));
  try {
    std::reverse(words.begin(), words.end());
    parser.parse(std::move(words));
    declared.finish(tail);
  } catch (const CLI::CallForHelp&) {
    std::cout << parser.help();
    return 0;
  } catch (const CLI::ParseError& wrong) {
    return usage_error(wrong.what(), chosen.name, chosen.usage_exit);
  }
  app shared(std::move(globals));
  return run(shared);
}

int run_words(std::vector<std::string> words, const std::vector<std::string>& tail, global_options globals) {
  const auto verbs = all_verbs();
  CLI::App parser;
  parser.set_help_flag();
  parser.prefix_command();
  add_globals(parser, globals);
  bool help = false, version = false;
  parser.add_flag("-h,--help", help);
  parser.add_flag("--version", version);
  try {
    std::reverse(words.begin(), words.end());
    parser.parse(std::move(words));
  } catch (const CLI::ParseError& wrong) {
    return usage_error(wrong.what(), "", exit_usage);
  }
  if (version) {
    std::cout << "sbxctl " SBX_VERSION "\n";
    return 0;
  }
  words = parser.remaining();
  if (words.empty() || words.front() == "help") {
    (help || !words.empty() ? std::cout : std::cerr) << overview(verbs);
    return help || !words.empty() ? 0 : exit_usage;
  }
  const auto [chosen, taken] = find_verb(verbs, words);
  if (!chosen) {
    const std::string group = group_overview(verbs, words.front());
    if (group.empty()) return usage_error("There is no verb " + shell_quote(words.front()), "", exit_usage);
    const bool asked = words.size() > 1 && (words[1] == "--help" || words[1] == "-h" || words[1] == "help");
    (asked ? std::cout : std::cerr) << group;
    return asked ? 0 : exit_usage;
  }
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(taken));
  if (help) words.insert(words.begin(), "--help");
  return run_verb(*chosen, std::move(words), tail, std::move(globals));
}

}  // namespace

std::vector<verb> all_verbs() {
  std::vector<verb> verbs;
  add_exec_verbs(verbs);
  add_workspace_verbs(verbs);
  add_job_verbs(verbs);
  add_pty_verbs(verbs);
  add_fs_verbs(verbs);
  add_system_verbs(verbs);
  return verbs;
}

outcome<std::map<std::string, std::optional<std::string>>> parse_env(const std::vector<std::string>& given) {
  std::map<std::string, std::optional<std::string>> made;
  for (const auto& entry : given) {
    const auto equals = entry.find('=');
    const std::string name = entry.substr(0, equals);
    if (name.empty()) return fail(exit_usage, "An environment entry has no name: " + shell_quote(entry) + ".");
    if (equals != std::string::npos) {
      made[name] = entry.substr(equals + 1);
      continue;
    }
    const char* own = std::getenv(name.c_str());
    made[name] = own ? std::optional<std::string>(own) : std::nullopt;
  }
  return made;
}

int run_command_line(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);
  std::vector<std::string> words, tail;
  bool behind = false;
  for (int n = 1; n < argc; ++n) {
    if (!behind && std::string_view(argv[n]) == "--")
      behind = true;
    else
      (behind ? tail : words).emplace_back(argv[n]);
  }
  global_options globals;
  const char* no_colour = std::getenv("NO_COLOR");
  const bool colour_wanted = !(no_colour && *no_colour);
  globals.colour_out = colour_wanted && ::isatty(STDOUT_FILENO);
  globals.colour_err = colour_wanted && ::isatty(STDERR_FILENO);
  return run_words(std::move(words), tail, std::move(globals));
}

}  // namespace sbx::client
