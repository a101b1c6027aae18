// fs edit|ls|stat|glob|grep|mkdir|rm|mv|cp|watch.
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "client/fs_common.hpp"
#include "client/work_verbs.hpp"
#include "proto/bytes.hpp"

namespace sbx::client {
namespace {

bool is_kind(const failure& what, proto::error_kind kind) {
  return what.wire && what.wire->kind == kind;
}

template <class Answer>
int show_nothing(app& a, const Answer& answer) {
  if (!answer) return a.print_failure(answer.error());
  return a.json() ? a.print_json(*answer->raw) : 0;
}

struct edit_verb {
  file_place place;
  std::vector<std::string> words;
  bool all = false;
  std::optional<std::string> if_match;
  void describe(options& o) {
    place.describe(o);
    o.flag("-a,--all", all, "Every occurrence (else exactly one must be there)");
    o.text("--if-match", if_match, "Only when the file still has this etag", "ETAG");
    o.words(words, "PATH OLD NEW", 3, 3);
  }
  int run(app& a) {
    if (auto found = place.find(a); !found) return a.print_failure(found.error());
    auto params = place.on<proto::fs_edit_params>(words[0]);
    params.old_text.emplace(words[1]);
    params.new_text.emplace(words[2]);
    if (all) params.replace_all = true;
    params.if_match = if_match;
    auto answer = a.ask<proto::fs_edit>(params);
    if (!answer) return a.print_failure(answer.error());
    if (a.json()) return a.print_json(*answer->raw);
    return a.print(std::to_string(answer->value.replacements) + " replaced\n");
  }
};

struct list_verb {
  file_place place;
  std::vector<std::string> words;
  bool longer = false, all = false;
  void describe(options& o) {
    place.describe(o);
    o.flag("-l,--long", longer, "With type, size and time");
    o.flag("-a,--all", all, "Names that begin with a dot too");
    o.words(words, "[PATH]", 0, 1);
  }
  int run(app& a) {
    if (auto found = place.find(a); !found) return a.print_failure(found.error());
    auto params = place.on<proto::fs_list_params>(words.empty() ? "." : words.front());
    params.limit = 10'000;
    table rows({"TYPE", "SIZE", "CHANGED", "NAME"});
    proto::json merged = proto::json::array();
    do {
      auto answer = a.ask<proto::fs_list>(params);
      if (!answer) return a.print_failure(answer.error());
      params.cursor = answer->value.next_cursor;
      if (a.json())
        for (auto& one : (*answer->raw)["entries"]) merged.push_back(std::move(one));
      else if (const int code = show(a, answer->value, rows); code != 0)
        return code;
    } while (params.cursor);
    if (a.json()) return a.print_json({{"entries", std::move(merged)}, {"next_cursor", nullptr}});
    return longer ? a.print(rows.render(a.colour())) : 0;
  }

 private:
  int show(app& a, const proto::fs_list_result& page, table& rows) const {
    std::string names;
    const bool plain = !::isatty(STDOUT_FILENO);
    for (const auto& one : page.entries) {
      if (!all && one.name.starts_with('.')) continue;
      const std::string name = plain ? one.name : printable(one.name);
      if (longer)
        rows.add({std::string(proto::word(one.type)), format_size(one.size), one.mtime, printable(one.name)});
      else
        names += name + "\n";
    }
    return names.empty() ? 0 : a.print(names);
  }
};

struct stat_verb {
  file_place place;
  std::vector<std::string> words;
  bool no_follow = false;
  void describe(options& o) {
    place.describe(o);
    o.flag("-P,--no-follow", no_follow, "A link itself");
    o.words(words, "PATH", 1, 1);
  }
  int run(app& a) {
    if (auto found = place.find(a); !found) return a.print_failure(found.error());
    auto params = place.on<proto::fs_stat_params>(words.front());
    params.follow = !no_follow;
    auto answer = a.ask<proto::fs_stat>(params);
    if (!answer) return a.print_failure(answer.error());
    if (a.json()) return a.print_json(*answer->raw);
    const auto& found = answer->value;
    std::string out = "type   " + std::string(proto::word(found.type)) + "\nsize   " + std::to_string(found.size) +
                      "\nmode   " + found.mode + "\nmtime  " + found.mtime + "\nowner  " + std::to_string(found.uid) +
                      ":" + std::to_string(found.gid) + "\nlinks  " + std::to_string(found.nlink) + "\n";
    if (found.target) out += "target " + printable(*found.target) + "\n";
    return a.print(out);
  }
};

// Exact bytes of the paths of a glob's answer.
std::vector<std::string> exact_paths(const proto::fs_glob_result& found) {
  std::vector<std::string> paths = found.paths;
  for (const auto& one : found.exact) {
    auto bytes = proto::base64_decode(one.path_base64);
    if (bytes && one.index >= 0 && static_cast<std::size_t>(one.index) < paths.size())
      paths[static_cast<std::size_t>(one.index)] = std::move(*bytes);
  }
  return paths;
}

struct glob_verb {
  file_place place;
  std::vector<std::string> words;
  bool hidden = false, zero = false;
  std::optional<std::int64_t> limit;
  void describe(options& o) {
    place.describe(o);
    o.flag("--hidden", hidden, "Wildcards match dot names");
    o.flag("-0,--null", zero, "End each path with NUL");
    o.number("--limit", limit, "At most so many (default and at most 10000)");
    o.words(words, "PATTERN [PATH]", 1, 2);
  }
  int run(app& a) {
    if (auto found = place.find(a); !found) return a.print_failure(found.error());
    proto::fs_glob_params params;
    params.workspace = place.workspace();
    params.pattern = words[0];
    if (words.size() > 1) params.path = place.resolve(words[1]);
    params.hidden = hidden;
    params.limit = limit.value_or(10'000);
    auto answer = a.ask<proto::fs_glob>(params);
    if (!answer) return a.print_failure(answer.error());
    if (a.json()) return a.print_json(*answer->raw);
    const bool terminal = ::isatty(STDOUT_FILENO);
    std::string out;
    for (const auto& path : exact_paths(answer->value)) {
      out += terminal && !zero ? printable(path) : path;
      out += zero ? '\0' : '\n';
    }
    const int code = a.print(out);
    if (answer->value.truncated) a.note("there are more; see --limit.");
    return code != 0 ? code : answer->value.paths.empty() ? exit_error : 0;
  }
};

struct grep_verb {
  file_place place;
  std::vector<std::string> words;
  bool ignore_case = false, hidden = false, skip_ignored = false;
  std::optional<std::int64_t> context, limit;
  std::optional<std::string> glob;
  void describe(options& o) {
    place.describe(o);
    o.flag("-i,--ignore-case", ignore_case, "Upper and lower case alike");
    o.number("-C,--context", context, "Lines before and after each match");
    o.text("-g,--glob", glob, "Only files that match", "PATTERN");
    o.flag("--hidden", hidden, "Dot files too");
    o.flag("--skip-ignored", skip_ignored, "Leave out what .gitignore names");
    o.number("--limit", limit, "At most so many matches (default and at most 10000)");
    o.words(words, "REGEX [PATH]", 1, 2);
  }
  int run(app& a) {
    if (auto found = place.find(a); !found) return a.print_failure(found.error());
    proto::fs_grep_params params;
    params.workspace = place.workspace();
    params.pattern = words[0];
    if (words.size() > 1) params.path = place.resolve(words[1]);
    params.glob = glob;
    params.hidden = hidden;
    params.ignored = !skip_ignored;
    params.ignore_case = ignore_case;
    params.context = context.value_or(0);
    params.limit = limit.value_or(10'000);
    auto answer = a.ask<proto::fs_grep>(params);
    if (!answer) return a.print_failure(answer.error());
    if (a.json()) return a.print_json(*answer->raw);
    const int code = show(a, answer->value);
    if (answer->value.truncated) a.note("there are more matches; see --limit.");
    return code != 0 ? code : answer->value.matches.empty() ? exit_error : 0;
  }

 private:
  int show(app& a, const proto::fs_grep_result& found) const {
    const bool apart = context.value_or(0) > 0;
    std::string out;
    for (const auto& one : found.matches) {
      if (apart && !out.empty()) out += "--\n";
      const std::string path = a.colour() ? "\033[35m" + printable(one.path) + "\033[0m" : printable(one.path);
      const auto line = [&](std::int64_t number, char mark, const std::string& text) {
        out += path + mark + std::to_string(number) + mark + text + "\n";
      };
      auto number = one.line - static_cast<std::int64_t>(one.before.size());
      for (const auto& text : one.before) line(number++, '-', text);
      line(one.line, ':', one.text);
      number = one.line + 1;
      for (const auto& text : one.after) line(number++, '-', text);
    }
    return a.print(out);
  }
};

struct mkdir_verb {
  file_place place;
  std::vector<std::string> words;
  bool parents = false;
  void describe(options& o) {
    place.describe(o);
    o.flag("-p,--parents", parents, "Make missing ones above too; existing is fine");
    o.words(words, "PATH…", 1, SIZE_MAX);
  }
  int run(app& a) {
    if (auto found = place.find(a); !found) return a.print_failure(found.error());
    int code = 0;
    for (const auto& path : words) {
      auto params = place.on<proto::fs_mkdir_params>(path);
      params.parents = parents;
      if (auto answer = a.ask<proto::fs_mkdir>(params); !answer) code = a.print_failure(answer.error());
    }
    return code;
  }
};

struct remove_verb {
  file_place place;
  std::vector<std::string> words;
  bool recursive = false, force = false;
  void describe(options& o) {
    place.describe(o);
    o.flag("-r,--recursive", recursive, "With all that is in it");
    o.flag("-f,--force", force, "What is not there is fine");
    o.words(words, "PATH…", 1, SIZE_MAX);
  }
  int run(app& a) {
    if (auto found = place.find(a); !found) return a.print_failure(found.error());
    int code = 0;
    for (const auto& path : words) {
      auto params = place.on<proto::fs_remove_params>(path);
      params.recursive = recursive;
      auto answer = a.ask<proto::fs_remove>(params);
      if (!answer && !(force && is_kind(answer.error(), proto::error_kind::not_found)))
        code = a.print_failure(answer.error());
    }
    return code;
  }
};

template <class Method>
struct transfer_verb {
  file_place place;
  std::vector<std::string> words;
  bool no_clobber = false, recursive = false;
  static constexpr bool copies = Method::name == proto::fs_copy::name;
  void describe(options& o) {
    place.describe(o);
    o.flag("-n,--no-clobber", no_clobber, "Leave what is there");
    if (copies) o.flag("-r,--recursive", recursive, "Directories with all that is in them");
    o.words(words, "FROM TO", 2, 2);
  }
  int run(app& a) {
    if (auto found = place.find(a); !found) return a.print_failure(found.error());
    if (copies && !recursive) {
      auto found = place.stat(a, words[0]);
      if (!found) return a.print_failure(found.error());
      if (*found && (*found)->type == proto::file_type::directory)
        return a.print_failure(failure(exit_error, printable(words[0]) + " is a directory.", "say -r"));
    }
    auto to = place.target(a, words[0], words[1]);
    if (!to) return a.print_failure(to.error());
    auto params = place.on<proto::fs_transfer_params>(words[0]);
    params.to = place.resolve(*to);
    params.overwrite = !no_clobber;
    return show_nothing(a, a.ask<Method>(params));
  }
};

struct watch_verb {
  file_place place;
  std::vector<std::string> words;
  bool recursive = false;
  void describe(options& o) {
    place.describe(o);
    o.flag("-r,--recursive", recursive, "All below it too");
    o.words(words, "[PATH]", 0, 1);
  }
  int run(app& a) {
    if (auto found = place.find(a); !found) return a.print_failure(found.error());
    auto link = a.attach();
    if (!link) return a.print_failure(link.error());
    bool readable = true;
    const auto take = [&](const proto::call& note) { readable &= show(a, note); };
    (*link)->on_note(take);
    auto params = place.on<proto::fs_watch_params>(words.empty() ? "." : words.front());
    params.recursive = recursive;
    if (auto answer = (*link)->call<proto::fs_watch>(params); !answer) return a.print_failure(answer.error());
    while (readable) {
      if (auto one = (*link)->next()) {
        if (const auto* note = std::get_if<proto::call>(&*one)) take(*note);
      } else if (auto came = (*link)->receive(); !came) {
        return a.print_failure(came.error());
      }
    }
    return 0;
  }

 private:
  static bool show(app& a, const proto::call& note) {
    if (note.method != proto::fs_changed_note::name || !note.params) return true;
    if (a.json()) return a.print_json(*note.params) == 0;
    const auto told = proto::decode<proto::fs_changed_note>(*note.params, proto::unknown_members::skip);
    if (!told) return true;
    std::string out;
    for (const auto& one : told->events) out += std::string(proto::word(one.event)) + " " + printable(one.path) + "\n";
    if (told->overflow) out += "overflow: some changes were lost\n";
    return a.print(out) == 0;
  }
};

}  // namespace

void add_fs_verbs(std::vector<verb>& to) {
  const std::string group = "Files";
  add_transfer_verbs(to);
  to.push_back(make_verb<edit_verb>(group, "fs edit", "Replace a text that is there exactly once"));
  to.push_back(make_verb<list_verb>(group, "fs ls", "List a directory"));
  to.push_back(make_verb<stat_verb>(group, "fs stat", "What a path names"));
  to.push_back(make_verb<glob_verb>(group, "fs glob", "Find paths by a pattern"));
  to.push_back(make_verb<grep_verb>(group, "fs grep", "Find lines by a regular expression"));
  to.push_back(make_verb<mkdir_verb>(group, "fs mkdir", "Make directories"));
  to.push_back(make_verb<remove_verb>(group, "fs rm", "Remove files and directories"));
  to.push_back(make_verb<transfer_verb<proto::fs_move>>(group, "fs mv", "Rename or move"));
  to.push_back(make_verb<transfer_verb<proto::fs_copy>>(group, "fs cp", "Copy"));
  to.push_back(make_verb<watch_verb>(group, "fs watch", "Tell of changes as they come"));
}

}  // namespace sbx::client
