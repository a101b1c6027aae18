// The init that is a container's first process.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/async/event.hpp"
#include "daemon/async/task_group.hpp"
#include "daemon/sandbox/container_link.hpp"
#include "daemon/sandbox/engine.hpp"
#include "daemon/sandbox/init_body.hpp"
#include "daemon/sys/cgroup.hpp"

namespace sbx::sandbox {

// Removes a container by its name until the engine says that it is gone: tries again for a day, ever more rarely, when
// the engine is not there. `waited_enough` (may be null) is set when ten seconds of it were in vain.
async::task<void> remove_container(std::shared_ptr<engine> with, std::vector<std::string> engine_args, std::string name,
                                   std::shared_ptr<async::event> waited_enough);

struct container_facts {
  container_facts() = default;
  std::shared_ptr<engine> run_by;
  std::vector<std::string> engine_args;
  std::string name, id;
  pid_t pid = -1;
  std::shared_ptr<container_link> link;  // goes when the container has gone
};

// Starts nothing: the container runs already. `tasks` outlives it.
std::shared_ptr<init_body> make_container_body(async::asio::io_context& context, async::task_group& tasks,
                                               container_facts facts);

}  // namespace sbx::sandbox
