// Messages of sbx-init out of a byte stream, sans waiting: nothing it says is believed before it is whole and within
// bounds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/sys/error.hpp"
#include "daemon/sys/fd.hpp"
#include "daemon/sys/init_wire.hpp"

namespace sbx::sandbox {

struct incoming_message {
  incoming_message() = default;
  sys::init_wire::header head{};
  std::string body;  // head.bytes of it

  // The body's front as T, if it is that long.
  template <class T>
  std::optional<T> front() const;
};

class message_reader {
 public:
  enum class state { open, ended, broken };

  // Takes what the socket has now; not all of it from one that never stops. `open`: wait until it is readable again.
  state fill(sys::fd_ref socket);
  // The next whole message. Check broken() after nothing came.
  std::optional<incoming_message> next();
  bool broken() const { return broken_; }
  // Descriptors that came, in order; the reader closes what is not taken.
  std::vector<sys::unique_fd>& fds() { return fds_; }

 private:
  std::string buffer_;
  std::size_t used_ = 0;
  bool broken_ = false;
  std::vector<sys::unique_fd> fds_;
};

// A message as bytes.
std::string make_message(sys::init_wire::message type, std::uint32_t serial, const void* part, std::size_t bytes,
                         std::string_view more = {}, std::uint32_t fds = 0);

template <class T>
std::optional<T> incoming_message::front() const {
  if (body.size() < sizeof(T)) return std::nullopt;
  T value;
  __builtin_memcpy(&value, body.data(), sizeof value);
  return value;
}

}  // namespace sbx::sandbox
