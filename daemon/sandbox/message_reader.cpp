#include "daemon/sandbox/message_reader.hpp"

#include <array>

#include "daemon/sys/message_socket.hpp"

namespace sbx::sandbox {

namespace wire = sys::init_wire;

namespace {
constexpr int receives_per_fill_max = 16;  // then others have their turn
}

message_reader::state message_reader::fill(sys::fd_ref socket) {
  std::array<char, wire::packet_bytes_max> chunk;
  for (int receives = 0; receives < receives_per_fill_max; ++receives) {
    auto got = sys::receive_now(socket, chunk.data(), chunk.size());
    if (!got || got->ended) return state::ended;
    if (got->would_block) return state::open;
    for (auto& fd : got->fds) {
      if (fds_.size() < wire::spawn_fds_max) fds_.push_back(std::move(fd));
    }
    buffer_.append(chunk.data(), got->bytes);
    if (buffer_.size() - used_ > 2 * wire::report_bytes_max) {
      broken_ = true;
      return state::broken;
    }
  }
  return state::open;
}

std::optional<incoming_message> message_reader::next() {
  incoming_message out;
  if (broken_ || buffer_.size() - used_ < sizeof out.head) return std::nullopt;
  __builtin_memcpy(&out.head, buffer_.data() + used_, sizeof out.head);
  if (out.head.bytes > wire::report_bytes_max) {
    broken_ = true;
    return std::nullopt;
  }
  if (buffer_.size() - used_ < sizeof out.head + out.head.bytes) return std::nullopt;
  out.body.assign(buffer_, used_ + sizeof out.head, out.head.bytes);
  used_ += sizeof out.head + out.head.bytes;
  if (used_ == buffer_.size()) {
    buffer_.clear();
    used_ = 0;
  }
  return out;
}

std::string make_message(wire::message type, std::uint32_t serial, const void* part, std::size_t bytes,
                         std::string_view more, std::uint32_t fds) {
  const wire::header head{type, static_cast<std::uint32_t>(bytes + more.size()), serial, fds};
  std::string text;
  text.reserve(sizeof head + bytes + more.size());
  text.append(reinterpret_cast<const char*>(&head), sizeof head);
  text.append(static_cast<const char*>(part), bytes);
  text.append(more);
  return text;
}

}  // namespace sbx::sandbox
