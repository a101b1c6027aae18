#include "daemon/process/program_probe.hpp"

#include "daemon/process/exec.hpp"

namespace sbx::process {

async::task<bool> has_program(std::shared_ptr<sandbox::sandbox> box, async::strand strand, std::string name) {
  exec_request request;
  request.command.argv = {std::move(name), "--version"};
  request.command.env = make_environment(*box, std::nullopt, {});
  request.command.search_path = own_path(*box);
  request.command.cwd = "/";
  request.timeout = std::chrono::seconds(5);
  request.survivors = survivors_rule::kill;
  auto probe = std::make_shared<exec>(std::move(box), strand);
  auto running = probe->run(std::move(request));
  const auto ended = co_await std::move(running);
  co_return ended.has_value();
}

}  // namespace sbx::process
