#include "daemon/workspace/session.hpp"

#include "daemon/workspace/handle_id.hpp"

namespace sbx::workspace {

result<hold*> session::find_hold(const std::string& workspace) {
  const auto found = holds.find(workspace);
  if (found == holds.end()) return fail(no_such_handle(workspace));
  return &found->second;
}

result<std::shared_ptr<handle>> session::find_handle(handle_kind kind, const std::string& id) const {
  const auto found = handles.find(id);
  if (found == handles.end() || found->second->kind() != kind) return fail(no_such_handle(id));
  return found->second;
}

std::size_t session::count_active(handle_kind kind) const {
  std::size_t count = 0;
  for (const auto& [id, held] : handles) count += held->kind() == kind && held->active();
  return count;
}

}  // namespace sbx::workspace
