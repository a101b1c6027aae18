// The families that are served.
#include "daemon/api/core.hpp"

namespace sbx::api {

void register_domain_methods(core& c, rpc::method_table& table) {
  register_session_methods(c, table);
  register_workspace_methods(c, table);
  register_exec_methods(c, table);
  register_job_methods(c, table);
  register_pty_methods(c, table);
  register_shell_methods(c, table);
  register_fs_methods(c, table);
  register_policy_methods(c, table);
}

}  // namespace sbx::api
