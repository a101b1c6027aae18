// Starting what a session holds by a handle: the place first, then the command.
#pragma once

#include <functional>
#include <memory>

#include "daemon/api/command.hpp"
#include "daemon/api/recording_handle.hpp"

namespace sbx::api {

struct start_wish {
  start_wish() = default;
  workspace::handle_kind kind = workspace::handle_kind::job;
  command_wish command;
  // Runs on a strand of the command's own.
  std::function<async::task<result<std::shared_ptr<process::recording>>>(std::shared_ptr<sandbox::sandbox>,
                                                                         async::strand, process::command)>
      start;
};

// On the registry's strand. Errors: limit, those of prepare_command and of the start; nothing is held then.
async::task<result<std::shared_ptr<recording_handle>>> start_recording(core& c, place where, start_wish wish,
                                                                       sandbox::progress_fn progress);

}  // namespace sbx::api
