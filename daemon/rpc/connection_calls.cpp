// connection: from messages to calls and their answers.
#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#include <utility>

#include "daemon/rpc/connection.hpp"
#include "proto/codec.hpp"
#include "proto/methods/system.hpp"

namespace sbx::rpc {

namespace {

constexpr std::size_t requests_to_client_max = 256;

proto::wire_error bad_request(std::string message) {
  return proto::wire_error(proto::error_kind::invalid_request, std::move(message));
}

std::optional<proto::wire_error> fault_of(const fd_bundle& bundle) {
  if (bundle.too_many)
    return bad_request("More than " + std::to_string(frame_fds_max) + " descriptors came with the request.");
  if (!bundle.lost) return std::nullopt;
  proto::wire_error full(proto::error_kind::io, "The daemon has no room for the request's descriptors.");
  full.with("errno", "EMFILE");
  return full;
}

}  // namespace

void connection::handle_message(proto::message& message, fd_bundle bundle,
                                const std::shared_ptr<batch_answers>& batch) {
  if (auto* bad = std::get_if<proto::bad_message>(&message)) return answer(batch, bad->id, failure(bad->error));
  if (auto* response = std::get_if<proto::response>(&message)) return handle_response(*response);
  auto& call = std::get<proto::call>(message);
  if (auto fault = fault_of(bundle)) return answer(batch, call.id, failure(std::move(*fault)));
  handle_call(std::move(call), std::move(bundle), batch);
}

void connection::handle_call(proto::call call, fd_bundle bundle, const std::shared_ptr<batch_answers>& batch) {
  ++shared_->count.requests_total;
  if (call.id && calls_waiting_.find(*call.id))
    return answer(batch, proto::request_id(), failure(bad_request("A request with this id is in flight already.")));
  if (handle_cancel(call, batch)) return;
  const method* found = shared_->methods->find(call.method);
  if (found == nullptr) {
    proto::wire_error unknown(proto::error_kind::method_not_found, "There is no method \"" + call.method + "\".");
    return answer(batch, call.id, failure(std::move(unknown)));
  }
  auto active = std::make_shared<active_call>(shared_from_this(), std::move(call), std::move(bundle));
  if (draining_) {
    active->stop(stop_reason::shutdown);
    return answer(batch, active->id(), active->stopped_outcome());
  }
  active->method = found;
  active->batch = batch;
  active->key = *calls_waiting_.admit(active->id(), found->order);
  if (batch) ++batch->missing;
  calls_.emplace(active->key, std::move(active));
}

// Cancels act at once, whatever waits before them.
bool connection::handle_cancel(const proto::call& call, const std::shared_ptr<batch_answers>& batch) {
  if (call.method != proto::rpc_cancel::name && call.method != "$/cancelRequest") return false;
  auto params = proto::decode_params<proto::cancel_params>(call.params);
  if (!params) {
    answer(batch, call.id, failure(std::move(params.error())));
    return true;
  }
  proto::cancel_result done;
  done.cancelled = cancel(params->id);
  answer(batch, call.id, success(done));
  return true;
}

bool connection::cancel(const proto::request_id& id) {
  const auto key = calls_waiting_.find(id);
  if (!key) return false;
  stop_one(*key, stop_reason::cancelled);
  return true;
}

void connection::handle_response(const proto::response& response) {
  const auto* number = std::get_if<std::int64_t>(&response.id.value);
  if (number == nullptr) return;
  const auto at = requests_.find(*number);
  if (at == requests_.end()) return;  // given up, or never asked
  const auto waiting = at->second;
  requests_.erase(at);
  if (response.error)
    waiting->answer = fail(error_kind::internal, "The client answered with an error: " + response.error->message);
  else
    waiting->answer = response.result;
  waiting->answered.set();
}

void connection::start_calls() {
  if (starting_) return;  // a call that ended at once got here again
  starting_ = true;
  while (!gone_ && !outbox_.replies_full()) {
    const auto next = calls_waiting_.start_next();
    if (!next) break;
    const auto call = calls_.at(*next);
    call->running = running_.spawn("running a call", run(call));
  }
  starting_ = false;
}

async::task<void> connection::run(std::shared_ptr<active_call> call) {
  outcome what = failure(error(error_kind::internal, "The call failed inside the daemon; its log says more."));
  try {
    auto pending = call->method->call(*call, call->call().params);
    what = co_await std::move(pending);
  } catch (const boost::system::system_error& e) {
    const bool stopped = e.code() == async::asio::error::operation_aborted && call->stopped_by() != stop_reason::none;
    if (stopped)
      what = call->stopped_outcome();
    else
      shared_->failures(call->call().method, std::current_exception());
  } catch (...) {
    shared_->failures(call->call().method, std::current_exception());
  }
  if (!what && what.error().kind == proto::error_kind::cancelled && call->stopped_by() != stop_reason::none)
    what = call->stopped_outcome();
  finish(call, std::move(what));
}

void connection::finish(const std::shared_ptr<active_call>& call, outcome what) {
  calls_.erase(call->key);
  calls_waiting_.finish(call->key);
  reserved_bytes_ -= std::exchange(call->reserved_bytes, 0);
  call->close_fds();
  std::vector<sys::unique_fd> fds;
  if (what) fds = call->take_reply_fds();
  answer(call->batch, call->id(), what, std::move(fds));
  if (call->batch) {
    --call->batch->missing;
    finish_batch(call->batch);
  }
  start_calls();
  changed_.notify_all();
}

void connection::stop_one(request_table::key key, stop_reason reason) {
  const auto at = calls_.find(key);
  if (at == calls_.end()) return;
  const auto call = at->second;
  const bool running = calls_waiting_.is_running(key);
  call->stop(reason);
  if (!running) finish(call, call->stopped_outcome());
}

void connection::stop_all(stop_reason reason) {
  const bool before = std::exchange(starting_, true);  // nothing starts meanwhile
  for (const auto key : calls_waiting_.all()) stop_one(key, reason);
  starting_ = before;
}

async::task<result<proto::document>> connection::request(std::string method, std::string params_json) {
  const auto self = shared_from_this();
  if (gone_) co_return fail(error_kind::cancelled, "The client is gone.");
  if (requests_.size() >= requests_to_client_max)
    co_return fail(error_kind::limit, "Too many requests to this client wait for an answer.");
  const std::int64_t id = next_request_++;
  const auto waiting = std::make_shared<pending_request>();
  requests_.emplace(id, waiting);
  struct forget {
    forget(connection& owner_, std::int64_t id_) : owner(owner_), id(id_) {}
    ~forget() { owner.requests_.erase(id); }
    connection& owner;
    std::int64_t id;
  } const forgetting(*this, id);
  send(proto::make_request(proto::request_id(id), method, params_json), {});
  auto pending = waiting->answered.wait();
  co_await std::move(pending);
  co_return std::move(waiting->answer);
}

async::task<void> connection::reserve(active_call& call, std::size_t bytes) {
  for (;;) {
    const auto seen = changed_.generation();
    const bool fits = reserved_bytes_ + outbox_.bytes() + bytes <= shared_->limits.replies_in_making_bytes;
    if (fits || gone_ || (reserved_bytes_ == 0 && !outbox_.replies_full())) break;
    auto pending = changed_.wait_past(seen);
    co_await std::move(pending);
  }
  reserved_bytes_ += bytes;
  call.reserved_bytes += bytes;
}

}  // namespace sbx::rpc
