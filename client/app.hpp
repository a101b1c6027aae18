// What all verbs share: the global options, the connection, the session that separate calls meet in, and the output.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "client/connection.hpp"
#include "client/text.hpp"
#include "proto/methods/session.hpp"
#include "proto/methods/workspace.hpp"

namespace sbx::client {

struct global_options {
  global_options() = default;
  std::optional<std::string> socket;
  bool json = false;
  bool colour_out = false, colour_err = false;  // terminals, unless NO_COLOR
};

class app {
 public:
  explicit app(global_options options) : options_(std::move(options)) {}

  bool json() const { return options_.json; }
  bool colour() const { return options_.colour_out; }

  // Connects on first use. `connect` stays in the connection's private session; `attach` uses the remembered one,
  // making it when the daemon no longer knows it.
  outcome<connection*> connect();
  outcome<connection*> attach();
  // A further connection, attached likewise.
  outcome<std::unique_ptr<connection>> open_attached();

  // One request in the remembered session (system.* and rpc.* need none).
  template <class Method>
  outcome<reply<typename Method::result>> ask(const typename Method::params& params) {
    auto link = needs_session(Method::name) ? attach() : connect();
    if (!link) return fail(std::move(link.error()));
    return (*link)->template call<Method>(params);
  }
  outcome<proto::document> ask_raw(std::string_view method, std::string_view params);

  // The workspace that is meant: a handle or name, a directory to open, or the held one that contains the current
  // directory.
  outcome<proto::workspace_entry> workspace(const std::optional<std::string>& given,
                                            const std::optional<std::string>& root = std::nullopt);

  // Prints and answers the exit code. Output to a closed pipe ends quietly.
  int print(std::string_view text);
  int print_json(const proto::json& value);
  int print_failure(const failure& what);
  int print_failure(const failure& what, int exit_code);
  void note(std::string_view text);  // one line on stderr

 private:
  static bool needs_session(std::string_view method);
  outcome<void> attach_session(connection& link);
  outcome<void> open_session(connection& link, const class token_store& store);
  void show_progress(const proto::call& note);
  void end_progress();

  global_options options_;
  std::unique_ptr<connection> link_;
  bool attached_ = false, progress_shown_ = false;
};

// Which root contains `directory` (itself or above), longest first; empty when none does.
std::string containing_root(const std::vector<proto::c_bytes>& roots, const std::string& directory);
std::string current_directory();
// Absolute, links resolved where it exists.
std::string absolute_path(const std::string& path);

}  // namespace sbx::client
