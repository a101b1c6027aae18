// The init that runs as (bwrap: beneath) a helper program of the daemon's own.
#pragma once

#include <memory>

#include "daemon/sandbox/helper.hpp"
#include "daemon/sandbox/init_body.hpp"

namespace sbx::sandbox {

class helper_body : public init_body {
 public:
  // `program` is what the daemon started, `said` its stderr.
  helper_body(async::asio::io_context& context, std::shared_ptr<helper> program, std::shared_ptr<pipe_reader> said);
  ~helper_body() override;

  // bwrap's init is not the program itself but its child: known once bwrap told. Nothing happens when there is no such
  // process.
  void set_init(pid_t pid);

  void kill() override;
  async::task<void> wait_gone() override;
  async::task<void> wait_failed() override { return program_->wait_ended(); }
  std::string last_words() const override;
  std::optional<pid_t> host_pid() const override;

 private:
  async::asio::io_context& context_;
  std::shared_ptr<helper> program_;
  std::shared_ptr<pipe_reader> said_;
  sys::unique_fd init_;  // pidfd
  std::optional<pid_t> init_pid_;
};

}  // namespace sbx::sandbox
