#include "daemon/rpc/active_call.hpp"

#include <utility>

#include "daemon/rpc/connection.hpp"
#include "proto/codec.hpp"
#include "proto/methods/system.hpp"

namespace sbx::rpc {

active_call::active_call(std::shared_ptr<rpc::connection> owner, proto::call call, fd_bundle bundle)
    : owner_(std::move(owner)), peer_(owner_), call_(std::move(call)), fds_(std::move(bundle.fds)) {}

result<sys::unique_fd> active_call::take_fd(std::size_t k) {
  if (k >= fds_.size() || !fds_[k])
    return fail(error_kind::invalid_params, "No descriptor number " + std::to_string(k) + " came with the request.");
  return std::move(fds_[k]);
}

std::size_t active_call::reply_fd(sys::unique_fd fd) {
  reply_fds_.push_back(std::move(fd));
  return reply_fds_.size() - 1;
}

void active_call::progress(std::string_view phase, std::string_view message, std::optional<std::int64_t> done,
                           std::optional<std::int64_t> total) {
  if (!call_.id) return;
  proto::progress_note note;
  note.id = *call_.id;
  note.phase = phase;
  note.message = message;
  note.done = done;
  note.total = total;
  owner_->notify(proto::progress_note::name, proto::encode_text(note));
}

async::task<void> active_call::reserve_reply(std::size_t bytes) {
  return owner_->reserve(*this, bytes);
}

void active_call::stop(stop_reason reason) {
  if (reason_ != stop_reason::none) return;
  reason_ = reason;
  stopping_.set();
  if (method != nullptr && method->stop == stop_style::cancel) running.cancel();
}

outcome active_call::stopped_outcome() const {
  if (reason_ == stop_reason::shutdown) {
    proto::wire_error ending(proto::error_kind::shutting_down, "The daemon is shutting down.");
    ending.with("retryable", true);
    return failure(std::move(ending));
  }
  return failure(proto::wire_error(proto::error_kind::cancelled, "The request was cancelled."));
}

}  // namespace sbx::rpc
