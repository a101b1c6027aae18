// Whether a sandbox has a program.
#pragma once

#include <memory>
#include <string>

#include "daemon/async/task.hpp"
#include "daemon/sandbox/sandbox.hpp"

namespace sbx::process {

// Looks for it in the sandbox's own PATH by starting it with the option --version and ending it at once.
async::task<bool> has_program(std::shared_ptr<sandbox::sandbox> box, async::strand strand, std::string name);

}  // namespace sbx::process
