// A call in flight, from its arrival to its reply.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/async/task_group.hpp"
#include "daemon/rpc/call_context.hpp"
#include "daemon/rpc/fd_claims.hpp"
#include "daemon/rpc/request_table.hpp"
#include "proto/jsonrpc.hpp"

namespace sbx::rpc {

class connection;

// The answers of a batch, sent as one array when the last is there.
struct batch_answers {
  batch_answers() = default;
  std::vector<std::string> texts;
  std::size_t missing = 0;  // calls that have not ended
};

class active_call : public call_context {
 public:
  active_call(std::shared_ptr<rpc::connection> owner, proto::call call, fd_bundle bundle);

  const std::shared_ptr<peer>& connection() const override { return peer_; }
  const std::optional<proto::request_id>& id() const override { return call_.id; }
  result<sys::unique_fd> take_fd(std::size_t k) override;
  std::size_t reply_fd(sys::unique_fd fd) override;
  void progress(std::string_view phase, std::string_view message, std::optional<std::int64_t> done,
                std::optional<std::int64_t> total) override;
  stop_reason stopped_by() const override { return reason_; }
  async::event& stopping() override { return stopping_; }
  void keep(std::shared_ptr<void> what) override { kept_.push_back(std::move(what)); }
  async::task<void> reserve_reply(std::size_t bytes) override;

  // Asks it to end, for the first reason given.
  void stop(stop_reason reason);
  // What is answered when it was stopped without an answer of its own.
  outcome stopped_outcome() const;

  const proto::call& call() const { return call_; }
  // What no parameter named is closed before the answer is seen.
  void close_fds() { fds_.clear(); }
  std::vector<sys::unique_fd> take_reply_fds() { return std::move(reply_fds_); }

  request_table::key key = 0;
  const rpc::method* method = nullptr;  // null: unknown
  std::shared_ptr<batch_answers> batch;
  async::task_group::handle running;
  std::size_t reserved_bytes = 0;

 private:
  std::shared_ptr<rpc::connection> owner_;
  std::shared_ptr<peer> peer_;
  proto::call call_;
  std::vector<sys::unique_fd> fds_, reply_fds_;
  std::vector<std::shared_ptr<void>> kept_;
  stop_reason reason_ = stop_reason::none;
  async::event stopping_;
};

}  // namespace sbx::rpc
