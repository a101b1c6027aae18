// What a handler gets besides its parameters. Valid until the handler has answered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/async/event.hpp"
#include "daemon/rpc/peer.hpp"
#include "daemon/sys/fd.hpp"
#include "proto/types.hpp"

namespace sbx::rpc {

enum class stop_reason { none, cancelled, client_gone, shutdown };

class call_context {
 public:
  virtual ~call_context() = default;

  virtual const std::shared_ptr<peer>& connection() const = 0;

  // Nothing for a notification.
  virtual const std::optional<proto::request_id>& id() const = 0;

  // The k-th descriptor that came with the request, once; invalid_params when there is none (any more).
  // What is not taken is closed when the handler has answered.
  virtual result<sys::unique_fd> take_fd(std::size_t k) = 0;
  // Sends a descriptor with the reply, and answers its index there (dropped when the answer is an error).
  virtual std::size_t reply_fd(sys::unique_fd fd) = 0;

  // Tells the client of long work by $/progress; dropped when the client does not keep up.
  virtual void progress(std::string_view phase, std::string_view message, std::optional<std::int64_t> done,
                        std::optional<std::int64_t> total) = 0;

  // Why this call is to stop, and the event that tells of it. A method with stop_style::ask watches it (async::until)
  // and answers in its own time; any other is cancelled by Asio as well. Either way what is sent is cancelled or
  // shutting_down, unless the handler finished with an answer of its own before it was stopped. rpc.cancel and
  // $/cancelRequest are served by the connection itself.
  virtual stop_reason stopped_by() const = 0;
  virtual async::event& stopping() = 0;

  // Held until the reply has been queued and, where the client has room, written: what takes time to let go of must not
  // delay the answer.
  virtual void keep(std::shared_ptr<void> what) = 0;

  // Waits until `bytes` more of replies in the making fit this connection's budget, and holds them until the reply is
  // queued. Handlers with large answers (fs.read) say so before they make them.
  virtual async::task<void> reserve_reply(std::size_t bytes) = 0;
};

}  // namespace sbx::rpc
