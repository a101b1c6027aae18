#include "proto/catalog.hpp"

#include "proto/method_list.hpp"

namespace sbx::proto {
namespace {

template <class Method>
method_entry entry_of() {
  method_entry made;
  made.name = Method::name;
  made.summary = Method::summary;
  made.params = &shape_of<typename Method::params>::value;
  made.result = &shape_of<typename Method::result>::value;
  made.ordered = is_ordered<Method>;
  return made;
}

bool in_family(std::string_view method, std::string_view family) {
  return method.size() > family.size() && method.starts_with(family) && method[family.size()] == '.';
}

void append(std::vector<error_kind>& out, std::initializer_list<error_kind> more) {
  out.insert(out.end(), more);
}

}  // namespace

const std::vector<method_entry>& method_catalog() {
  static const std::vector<method_entry> entries = [] {
    std::vector<method_entry> made;
    methods::each([&]<class Method>() { made.push_back(entry_of<Method>()); });
    return made;
  }();
  return entries;
}

const std::vector<notification_entry>& notification_catalog() {
  static const std::vector<notification_entry> entries = [] {
    std::vector<notification_entry> made;
    notifications::each([&]<class Note>() {
      notification_entry entry;
      entry.name = Note::name;
      entry.summary = Note::summary;
      entry.params = &shape_of<Note>::value;
      made.push_back(entry);
    });
    return made;
  }();
  return entries;
}

const method_entry& authorize_entry() {
  static const method_entry entry = entry_of<policy_authorize>();
  return entry;
}

std::vector<error_kind> errors_of(std::string_view method) {
  using enum error_kind;
  std::vector<error_kind> out = {invalid_params};
  if (in_family(method, "system") || in_family(method, "rpc")) return out;
  append(out, {cancelled, shutting_down, no_such_handle});
  if (in_family(method, "session")) {
    if (method == session_open::name) append(out, {limit});
    return out;
  }
  append(out, {denied});
  if (in_family(method, "policy")) return out;
  if (in_family(method, "fs")) {
    append(out, {not_found, io, not_a_file, root_gone});
    if (method == fs_write::name || method == fs_edit::name || method == fs_mkdir::name || method == fs_move::name ||
        method == fs_copy::name)
      append(out, {conflict, too_large});
    if (method == fs_edit::name) append(out, {edit_mismatch});
    if (method == fs_glob::name || method == fs_grep::name || method == fs_watch::name) append(out, {limit});
    return out;
  }
  if (method == workspace_open::name) append(out, {not_found, io, conflict, unsupported, limit});
  const bool starts = method == exec_run::name || method == job_start::name || method == pty_open::name ||
                      method == shell_open::name || method == shell_run::name;
  if (starts || method == workspace_start::name)
    append(out, {sandbox_unavailable, sandbox_lost, unsupported, root_gone});
  if (starts) append(out, {spawn_failed, limit, conflict});
  return out;
}

std::string_view meaning_of(error_kind kind) {
  switch (kind) {
    case error_kind::parse_error:
      return "The message is not valid JSON.";
    case error_kind::invalid_request:
      return "The message is not a valid request.";
    case error_kind::method_not_found:
      return "There is no such method.";
    case error_kind::invalid_params:
      return "The parameters are invalid; `path` is a JSON pointer to the culprit.";
    case error_kind::internal:
      return "A bug of the daemon.";
    case error_kind::cancelled:
      return "The request was cancelled.";
    case error_kind::denied:
      return "Outside the granted workspace, or vetoed by policy; says nothing about the target.";
    case error_kind::not_found:
      return "No such file.";
    case error_kind::no_such_handle:
      return "An unknown handle, or another session's: the same answer.";
    case error_kind::limit:
      return "A cap was reached.";
    case error_kind::edit_mismatch:
      return "The text to be replaced is not there exactly once.";
    case error_kind::sandbox_unavailable:
      return "The backend cannot start a sandbox.";
    case error_kind::sandbox_lost:
      return "The sandbox died before the command had started.";
    case error_kind::spawn_failed:
      return "The command did not start.";
    case error_kind::conflict:
      return "Exists already with other settings, or changed meanwhile.";
    case error_kind::io:
      return "Any other system error.";
    case error_kind::not_a_file:
      return "A regular file is needed where something else is.";
    case error_kind::too_large:
      return "A size limit would be exceeded.";
    case error_kind::shutting_down:
      return "The daemon is draining.";
    case error_kind::unsupported:
      return "This backend or kernel cannot do it.";
    case error_kind::root_gone:
      return "A root was deleted, moved or replaced since it was opened.";
  }
  return {};
}

}  // namespace sbx::proto
