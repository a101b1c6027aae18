#include "client/app.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "client/places.hpp"
#include "proto/methods/system.hpp"

namespace sbx::client {
namespace {

bool write_whole(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

std::string current_directory() {
  char here[PATH_MAX];
  return ::getcwd(here, sizeof(here)) ? here : "";
}

std::string absolute_path(const std::string& path) {
  if (char* real = ::realpath(path.c_str(), nullptr)) {
    std::string made(real);
    std::free(real);
    return made;
  }
  return path.starts_with('/') ? path : current_directory() + "/" + path;
}

std::string containing_root(const std::vector<proto::c_bytes>& roots, const std::string& directory) {
  std::string found;
  for (const auto& root : roots) {
    const std::string& path = root.value;
    const bool inside = directory == path || directory.starts_with(path + "/");
    if (inside && path.size() > found.size()) found = path;
  }
  return found;
}

// --- Connection and session ---

bool app::needs_session(std::string_view method) {
  return !method.starts_with("system.") && !method.starts_with("rpc.");
}

outcome<connection*> app::connect() {
  if (link_) return link_.get();
  auto path = socket_path(options_.socket.value_or(""));
  if (!path) return fail(std::move(path.error()));
  auto made = connection::open(*path);
  if (!made) return fail(std::move(made.error()));
  link_ = std::move(*made);
  link_->on_note([this](const proto::call& note) { show_progress(note); });
  return link_.get();
}

outcome<connection*> app::attach() {
  auto link = connect();
  if (!link || attached_) return link;
  if (auto done = attach_session(**link); !done) return fail(std::move(done.error()));
  attached_ = true;
  return link;
}

outcome<std::unique_ptr<connection>> app::open_attached() {
  auto path = socket_path(options_.socket.value_or(""));
  if (!path) return fail(std::move(path.error()));
  auto made = connection::open(*path);
  if (!made) return made;
  if (auto done = attach_session(**made); !done) return fail(std::move(done.error()));
  return made;
}

namespace {

outcome<bool> try_attach(connection& link, const std::string& token) {
  if (token.empty()) return false;
  proto::session_attach_params params;
  params.session = token;
  auto done = link.call<proto::session_attach>(params);
  if (done) return true;
  if (done.error().wire && done.error().wire->kind == proto::error_kind::no_such_handle) return false;
  return fail(std::move(done.error()));
}

}  // namespace

outcome<void> app::attach_session(connection& link) {
  auto path = socket_path(options_.socket.value_or(""));
  if (!path) return fail(std::move(path.error()));
  auto store = token_store::open(*path);
  if (!store) return fail(std::move(store.error()));
  const std::string remembered = store->read();
  auto attached = try_attach(link, remembered);
  if (!attached) return fail(std::move(attached.error()));
  if (*attached) return {};
  store->lock();
  if (const std::string newer = store->read(); newer != remembered) {  // another call was quicker
    attached = try_attach(link, newer);
    if (!attached) return fail(std::move(attached.error()));
    if (*attached) return {};
  }
  return open_session(link, *store);
}

outcome<void> app::open_session(connection& link, const token_store& store) {
  proto::session_open_params params;
  params.name = "sbxctl";
  auto opened = link.call<proto::session_open>(params);
  if (!opened) return fail(std::move(opened.error()));
  if (auto written = store.write(opened->value.session); !written) return written;
  auto attached = try_attach(link, opened->value.session);
  if (!attached) return fail(std::move(attached.error()));
  if (!*attached) return fail(exit_unavailable, "The daemon forgot the session it had just opened.");
  return {};
}

outcome<proto::document> app::ask_raw(std::string_view method, std::string_view params) {
  auto link = needs_session(method) ? attach() : connect();
  if (!link) return fail(std::move(link.error()));
  auto answer = (*link)->call(method, params);
  end_progress();
  return answer;
}

// --- Workspaces ---

namespace {

outcome<proto::workspace_entry> named_workspace(const proto::workspace_list_result& held, const std::string& name) {
  for (const auto& one : held.workspaces)
    if (one.name == name) return one;
  return fail(exit_unavailable, "No workspace of this session is called " + shell_quote(name) + ".",
              "`sbxctl ws ls` shows them");
}

outcome<proto::workspace_entry> workspace_here(const proto::workspace_list_result& held) {
  const std::string here = current_directory();
  const proto::workspace_entry* best = nullptr;
  std::size_t length = 0;
  for (const auto& one : held.workspaces) {
    const std::string root = containing_root(one.roots, here);
    if (root.size() <= length) continue;
    best = &one;
    length = root.size();
  }
  if (best) return *best;
  return fail(exit_unavailable, "No workspace holds " + printable(here) + ".", "open one with `sbxctl ws open .`");
}

}  // namespace

outcome<proto::workspace_entry> app::workspace(const std::optional<std::string>& given,
                                               const std::optional<std::string>& root) {
  const auto unavailable = [](failure what) {  // a sandbox that can't be had, whatever the reason
    what.exit_code = exit_unavailable;
    return fail(std::move(what));
  };
  if (root) {
    proto::workspace_open_params params;
    params.roots.emplace().emplace_back(absolute_path(*root));
    auto opened = ask<proto::workspace_open>(params);
    if (!opened) return unavailable(std::move(opened.error()));
    return std::move(opened->value);
  }
  if (given && given->starts_with("ws-")) {
    proto::workspace_params params;
    params.workspace = *given;
    auto found = ask<proto::workspace_get>(params);
    if (!found) return unavailable(std::move(found.error()));
    return std::move(found->value);
  }
  auto held = ask<proto::workspace_list>({});
  if (!held) return unavailable(std::move(held.error()));
  return given ? named_workspace(held->value, *given) : workspace_here(held->value);
}

// --- Output ---

int app::print(std::string_view text) {
  end_progress();
  return write_whole(STDOUT_FILENO, text) ? 0 : exit_error;
}

int app::print_json(const proto::json& value) {
  const int indent = ::isatty(STDOUT_FILENO) ? 2 : -1;
  return print(value.dump(indent, ' ', false, proto::json::error_handler_t::replace) + "\n");
}

int app::print_failure(const failure& what, int exit_code) {
  end_progress();
  std::string text;
  if (options_.json && what.wire) {
    text = what.wire->render() + "\n";
  } else {
    std::string message = printable(what.message);
    if (!what.remedy.empty()) {
      while (!message.empty() && message.back() == '.') message.pop_back();
      message += "; " + printable(what.remedy) + ".";
    }
    text = options_.colour_err ? "\033[31msbxctl:\033[0m " + message + "\n" : "sbxctl: " + message + "\n";
  }
  write_whole(STDERR_FILENO, text);
  return exit_code;
}

int app::print_failure(const failure& what) {
  return print_failure(what, what.exit_code);
}

void app::note(std::string_view text) {
  end_progress();
  write_whole(STDERR_FILENO, "sbxctl: " + std::string(text) + "\n");
}

void app::show_progress(const proto::call& note) {
  if (note.method != proto::progress_note::name || !options_.colour_err || !note.params) return;
  const auto told = proto::decode<proto::progress_note>(*note.params, proto::unknown_members::skip);
  if (!told) return;
  std::string line = "\r\033[K" + printable(told->message);
  if (told->done && told->total && *told->total > 0) {
    constexpr std::int64_t width = 24;
    const std::int64_t filled = std::clamp<std::int64_t>(*told->done * width / *told->total, 0, width);
    line += " [" + std::string(static_cast<std::size_t>(filled), '=') +
            std::string(static_cast<std::size_t>(width - filled), ' ') + "]";
  }
  progress_shown_ = write_whole(STDERR_FILENO, line);
}

void app::end_progress() {
  if (progress_shown_) write_whole(STDERR_FILENO, "\r\033[K");
  progress_shown_ = false;
}

}  // namespace sbx::client
