// Every method and notification of the contract, once.
#pragma once

#include "proto/methods/exec.hpp"
#include "proto/methods/fs.hpp"
#include "proto/methods/job.hpp"
#include "proto/methods/policy.hpp"
#include "proto/methods/pty.hpp"
#include "proto/methods/session.hpp"
#include "proto/methods/shell.hpp"
#include "proto/methods/system.hpp"
#include "proto/methods/workspace.hpp"

namespace sbx::proto {

template <class... Ts>
struct type_list {
  // Calls use.template operator()<T>() for each.
  template <class F>
  static void each(F&& use) {
    (use.template operator()<Ts>(), ...);
  }
};

using system_methods = type_list<system_ping, system_info, system_doctor, system_stats, rpc_discover, rpc_cancel>;
using session_methods = type_list<session_open, session_attach, session_close, session_get>;
using workspace_methods = type_list<workspace_open, workspace_get, workspace_list, workspace_start, workspace_restart,
                                    workspace_close, workspace_processes>;
using exec_methods = type_list<exec_run, exec_signal>;
using job_methods = type_list<job_start, job_collect, job_read, job_follow, job_unfollow, job_wait, job_write,
                              job_signal, job_stop, job_list>;
using pty_methods = type_list<pty_open, pty_write, pty_resize, pty_read, pty_follow, pty_unfollow, pty_wait, pty_signal,
                              pty_close, pty_list>;
using shell_methods = type_list<shell_open, shell_run, shell_close>;
using fs_methods = type_list<fs_read, fs_write, fs_edit, fs_stat, fs_list, fs_glob, fs_grep, fs_mkdir, fs_remove,
                             fs_move, fs_copy, fs_open, fs_watch, fs_unwatch>;
using policy_methods = type_list<policy_register, policy_unregister>;

template <class... Lists>
struct join_lists;
template <class... Ts>
struct join_lists<type_list<Ts...>> {
  using type = type_list<Ts...>;
};
template <class... As, class... Bs, class... Rest>
struct join_lists<type_list<As...>, type_list<Bs...>, Rest...> : join_lists<type_list<As..., Bs...>, Rest...> {};

using methods = join_lists<system_methods, session_methods, workspace_methods, exec_methods, job_methods, pty_methods,
                           shell_methods, fs_methods, policy_methods>::type;

using notifications = type_list<progress_note, job_output_note, job_exited_note, job_closed_note, pty_output_note,
                                pty_exited_note, pty_closed_note, fs_changed_note>;

// Methods whose effect comes before any later request of the connection starts.
template <class Method>
constexpr bool is_ordered = requires {
  requires Method::ordered;
};

}  // namespace sbx::proto
