#include "daemon/workspace/handle_id.hpp"

#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <stdexcept>

namespace sbx::workspace {

std::string make_handle(std::string_view prefix) {
  std::array<std::uint8_t, 16> bits;
  for (std::size_t have = 0; have < bits.size();) {
    const ssize_t got = ::getrandom(bits.data() + have, bits.size() - have, 0);
    if (got < 0 && errno != EINTR) throw std::runtime_error("no random numbers");
    if (got > 0) have += static_cast<std::size_t>(got);
  }
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out(prefix);
  for (const std::uint8_t byte : bits) {
    out.push_back(digits[byte >> 4]);
    out.push_back(digits[byte & 15]);
  }
  return out;
}

error no_such_handle(const std::string& handle) {
  return error(error_kind::no_such_handle, "there is no such handle").with("handle", handle);
}

}  // namespace sbx::workspace
