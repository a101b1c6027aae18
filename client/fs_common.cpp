#include "client/fs_common.hpp"

namespace sbx::client {

outcome<void> file_place::find(app& a) {
  auto found = where_.find(a);
  if (!found) return fail(std::move(found.error()));
  entry_ = std::move(*found);
  return {};
}

std::string file_place::resolve(const std::string& path) const {
  if (path.starts_with('/')) return path;
  const std::string here = current_directory();
  if (containing_root(entry_.roots, here).empty()) return path == "." ? "" : path;
  return path.empty() || path == "." ? here : here + "/" + path;
}

outcome<std::optional<proto::fs_stat_result>> file_place::stat(app& a, const std::string& path) const {
  auto answer = a.ask<proto::fs_stat>(on<proto::fs_stat_params>(path));
  if (answer) return std::optional(std::move(answer->value));
  if (answer.error().wire && answer.error().wire->kind == proto::error_kind::not_found) return std::nullopt;
  return fail(std::move(answer.error()));
}

outcome<std::string> file_place::target(app& a, const std::string& from, const std::string& to) const {
  auto found = stat(a, to);
  if (!found) return fail(std::move(found.error()));
  const bool directory = *found && (*found)->type == proto::file_type::directory;
  if (!directory) return to;
  return to.ends_with('/') || to.empty() ? to + base_name(from) : to + "/" + base_name(from);
}

std::string base_name(const std::string& path) {
  std::string_view text(path);
  while (text.size() > 1 && text.ends_with('/')) text.remove_suffix(1);
  const auto slash = text.rfind('/');
  return std::string(slash == std::string_view::npos ? text : text.substr(slash + 1));
}

}  // namespace sbx::client
