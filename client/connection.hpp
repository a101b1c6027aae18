// A blocking connection to the daemon, one JSON value a line. Not for more than one thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/failure.hpp"
#include "daemon/sys/fd.hpp"
#include "proto/codec.hpp"
#include "proto/framing.hpp"
#include "proto/jsonrpc.hpp"

namespace sbx::client {

// A result as it came (for --json), and what it says.
template <class Result>
struct reply {
  reply() = default;
  proto::document raw;
  Result value;
};

using note_sink = std::function<void(const proto::call& note)>;

class connection {
 public:
  // Fails with how to start a daemon when none answers.
  static outcome<std::unique_ptr<connection>> open(const std::string& path);

  // Sends a request; descriptors stay the caller's. An id is never given out twice.
  outcome<std::int64_t> send(std::string_view method, std::string_view params,
                             const std::vector<sys::fd_ref>& fds = {});
  outcome<void> notify(std::string_view method, std::string_view params);

  // Blocks until something has come, and takes it in. A failure at the end of the connection.
  outcome<void> receive();
  // What has come and was not looked at yet; does not block.
  std::optional<proto::message> next();
  // Descriptors that came with replies, in order.
  std::vector<sys::unique_fd> take_fds() { return std::move(fds_); }
  sys::fd_ref fd() const { return socket_; }

  // Waits for the answer to a request. Notifications go to the sink meanwhile.
  outcome<proto::document> wait(std::int64_t id);
  void on_note(note_sink sink) { sink_ = std::move(sink); }

  outcome<proto::document> call(std::string_view method, std::string_view params,
                                const std::vector<sys::fd_ref>& fds = {});
  template <class Method>
  outcome<reply<typename Method::result>> call(const typename Method::params& params,
                                               const std::vector<sys::fd_ref>& fds = {}) {
    auto raw = call(Method::name, proto::encode_text(params), fds);
    if (!raw) return fail(std::move(raw.error()));
    return read_as<Method>(std::move(*raw));
  }

  template <class Method>
  static outcome<reply<typename Method::result>> read_as(proto::document raw) {
    auto value = proto::decode<typename Method::result>(*raw, proto::unknown_members::skip);
    if (!value) return fail(not_understood(Method::name, value.error()));
    reply<typename Method::result> made;
    made.raw = std::move(raw);
    made.value = std::move(*value);
    return made;
  }

 private:
  explicit connection(sys::unique_fd socket);
  static failure not_understood(std::string_view method, const proto::fault& wrong);
  outcome<void> write_all(std::string_view bytes, const std::vector<sys::fd_ref>& fds);

  sys::unique_fd socket_;
  proto::frame_parser frames_;
  std::deque<proto::message> messages_;
  std::vector<sys::unique_fd> fds_;
  note_sink sink_;
  std::int64_t last_id_ = 0;
};

}  // namespace sbx::client
