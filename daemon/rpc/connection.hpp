// One client: frames in, calls run, replies out. Everything happens on its strand.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "daemon/async/event.hpp"
#include "daemon/async/outbox.hpp"
#include "daemon/async/task_group.hpp"
#include "daemon/rpc/active_call.hpp"
#include "daemon/rpc/channel.hpp"
#include "daemon/rpc/fd_claims.hpp"
#include "daemon/rpc/peer.hpp"
#include "daemon/rpc/request_table.hpp"
#include "daemon/rpc/services.hpp"
#include "proto/framing.hpp"
#include "proto/jsonrpc.hpp"

namespace sbx::rpc {

class connection : public peer, public std::enable_shared_from_this<connection> {
 public:
  connection(std::shared_ptr<services> shared, async::asio::any_io_executor strand, sys::unique_fd socket,
             std::uint64_t number);

  // Its whole life; once, on the strand. Not to be cancelled: use abort().
  async::task<void> serve();

  // No new work: calls in flight are stopped and answered shutting_down, later ones at once. On the strand.
  void drain();
  // Drained: no call in flight and everything written (or the client is gone).
  async::task<void> wait_quiet();
  // The client counts as gone from now on. On the strand.
  void abort();

  // peer
  std::uint64_t number() const override { return number_; }
  async::asio::any_io_executor strand() const override { return strand_; }
  bool closed() const override { return gone_; }
  async::task_group& tasks() override { return tasks_; }
  bool notify(std::string_view method, std::string_view params_json) override;
  async::task<bool> room() override { return outbox_.room(); }
  async::task<result<proto::document>> request(std::string method, std::string params_json) override;

  async::task<void> reserve(active_call& call, std::size_t bytes);

 private:
  // Reading
  async::task<void> read_until_end();
  async::task<bool> consume_frames();  // false: the stream cannot be followed any further
  bool paused() const { return calls_waiting_.full() || outbox_.replies_full(); }
  void receive();
  async::task<void>
  linger();  // the client may still be writing: takes it in for a while, so that it can read our answer

  // Calls
  async::task<void> handle_frame(proto::frame frame, fd_bundle bundle);
  void handle_message(proto::message& message, fd_bundle bundle, const std::shared_ptr<batch_answers>& batch);
  void handle_call(proto::call call, fd_bundle bundle, const std::shared_ptr<batch_answers>& batch);
  bool handle_cancel(const proto::call& call, const std::shared_ptr<batch_answers>& batch);
  void handle_response(const proto::response& response);
  bool cancel(const proto::request_id& id);
  void start_calls();
  async::task<void> run(std::shared_ptr<active_call> call);
  void finish(const std::shared_ptr<active_call>& call, outcome answer);
  void stop_all(stop_reason reason);
  void stop_one(request_table::key key, stop_reason reason);

  // Answering
  void answer(const std::shared_ptr<batch_answers>& batch, const std::optional<proto::request_id>& id,
              const outcome& what, std::vector<sys::unique_fd> fds = {});
  void finish_batch(const std::shared_ptr<batch_answers>& batch);
  void send(std::string text, std::vector<sys::unique_fd> fds);
  void flush();
  bool write_some();  // false: the client's buffer is full
  async::task<void> write_rest();
  async::task<void> watch_gone();
  void lose();

  struct pending_request {
    async::event answered;
    result<proto::document> answer = fail(error_kind::cancelled, "The client is gone.");
  };

  const std::shared_ptr<services> shared_;
  const async::asio::any_io_executor strand_;
  const std::uint64_t number_;
  channel channel_;
  proto::frame_parser parser_;
  fd_claims claims_;
  async::outbox outbox_;
  request_table calls_waiting_;
  std::map<request_table::key, std::shared_ptr<active_call>> calls_;
  std::map<std::int64_t, std::shared_ptr<pending_request>> requests_;
  std::int64_t next_request_ = 1;
  std::size_t reserved_bytes_ = 0;
  bool gone_ = false, ended_ = false, failed_ = false, draining_ = false, starting_ = false, writing_ = false;
  async::signal changed_;
  async::task_group running_, tasks_, io_;
};

}  // namespace sbx::rpc
