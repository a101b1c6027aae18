// The command line as a list: each verb says its options and what it does. Only cli.cpp knows the parser behind it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/failure.hpp"

namespace sbx::client {

class app;

// What a verb asks of the command line. Names as in "-w,--workspace".
class options {
 public:
  virtual ~options() = default;
  virtual void flag(const std::string& names, bool& into, const std::string& help) = 0;
  virtual void text(const std::string& names, std::optional<std::string>& into, const std::string& help,
                    const std::string& type = "TEXT") = 0;
  virtual void texts(const std::string& names, std::vector<std::string>& into, const std::string& help,
                     const std::string& type = "TEXT") = 0;
  virtual void number(const std::string& names, std::optional<std::int64_t>& into, const std::string& help,
                      const std::string& type = "N") = 0;
  virtual void duration(const std::string& names, std::optional<std::int64_t>& into_ms, const std::string& help) = 0;
  virtual void size(const std::string& names, std::optional<std::int64_t>& into_bytes, const std::string& help) = 0;
  virtual void word(const std::string& names, std::optional<std::string>& into, const std::vector<std::string>& words,
                    const std::string& help) = 0;

  // The words that are no options, at least `min` and at most `max` of them.
  virtual void words(std::vector<std::string>& into, const std::string& usage, std::size_t min, std::size_t max) = 0;
  // All from the first word that is no option, or from behind "--": a command to run.
  virtual void command(std::vector<std::string>& into, const std::string& usage, std::size_t min) = 0;
};

struct verb {
  verb() = default;
  std::string name;  // "ws open"
  std::string group, summary, description;
  int usage_exit = exit_usage;
  // Declares options into storage of its own and answers what is to be run.
  std::function<std::function<int(app&)>(options&)> prepare;
};

// Makes a verb from a struct with `void describe(options&)` and `int run(app&)`.
template <class Command>
verb make_verb(std::string group, std::string name, std::string summary, std::string description = {},
               int usage_exit = exit_usage) {
  verb made;
  made.name = std::move(name);
  made.group = std::move(group);
  made.summary = std::move(summary);
  made.description = std::move(description);
  made.usage_exit = usage_exit;
  made.prepare = [](options& o) {
    auto command = std::make_shared<Command>();
    command->describe(o);
    return [command](app& a) { return command->run(a); };
  };
  return made;
}

// One function a family, each in its own file.
void add_system_verbs(std::vector<verb>& to);
void add_workspace_verbs(std::vector<verb>& to);
void add_exec_verbs(std::vector<verb>& to);
void add_job_verbs(std::vector<verb>& to);
void add_pty_verbs(std::vector<verb>& to);
void add_fs_verbs(std::vector<verb>& to);

std::vector<verb> all_verbs();

// Parses and runs; answers the exit code.
int run_command_line(int argc, char** argv);

// "A=b" → an environment entry; a name alone takes the caller's own value. A usage failure for an empty name.
outcome<std::map<std::string, std::optional<std::string>>> parse_env(const std::vector<std::string>& given);

}  // namespace sbx::client
