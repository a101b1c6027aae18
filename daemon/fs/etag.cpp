#include "daemon/fs/etag.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "daemon/fs/file_io.hpp"

namespace sbx::fs {
namespace {

constexpr std::int64_t fresh_ns = 2'000'000'000;

std::uint64_t mixed(std::uint64_t value) {  // the finalizer of splitmix64
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

std::uint64_t hash(std::string_view bytes, std::uint64_t seed) {
  std::uint64_t state = mixed(seed + bytes.size());
  while (bytes.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    state = mixed(state ^ word) + 0x9e3779b97f4a7c15ULL;
    bytes.remove_prefix(8);
  }
  std::uint64_t rest = 0;
  if (!bytes.empty()) std::memcpy(&rest, bytes.data(), bytes.size());
  return mixed(state ^ rest);
}

std::string hex(std::string_view bytes) {
  std::array<char, 33> text{};
  std::snprintf(text.data(), text.size(), "%016lx%016lx", hash(bytes, 1), hash(bytes, 2));
  return text.data();
}

std::string state_word(const struct stat& status) {
  const std::array<std::uint64_t, 6> fields{
      status.st_ino,
      static_cast<std::uint64_t>(status.st_size),
      static_cast<std::uint64_t>(status.st_mtim.tv_sec),
      static_cast<std::uint64_t>(status.st_mtim.tv_nsec),
      static_cast<std::uint64_t>(status.st_ctim.tv_sec),
      static_cast<std::uint64_t>(status.st_ctim.tv_nsec),
  };
  std::array<char, sizeof fields> bytes{};
  std::memcpy(bytes.data(), fields.data(), sizeof fields);
  return hex(std::string_view(bytes.data(), bytes.size()));
}

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

bool etag_needs_content(const struct stat& status) {
  if (status.st_size > etag_content_bytes_max) return false;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const std::int64_t changed = std::max(nanoseconds(status.st_mtim), nanoseconds(status.st_ctim));
  return nanoseconds(now) - changed < fresh_ns;  // also when the file is of the future
}

std::string make_etag(const struct stat& status, std::optional<std::string_view> content) {
  if (!content || !etag_needs_content(status)) return "s" + state_word(status);
  return "c" + state_word(status) + hex(*content);
}

std::string etag_of(sys::fd_ref readable, const struct stat& status) {
  if (!etag_needs_content(status)) return make_etag(status, std::nullopt);
  std::string content;
  if (read_up_to(readable, 0, etag_content_bytes_max, content) != 0) return make_etag(status, std::nullopt);
  return make_etag(status, content);
}

bool etag_matches(std::string_view etag, sys::fd_ref readable, const struct stat& status) {
  const std::string state = state_word(status);
  if (etag.empty() || etag.substr(1, state.size()) != state) return false;
  if (etag.front() == 's') return etag.size() == 1 + state.size();
  std::string content;
  if (etag.front() != 'c' || status.st_size > etag_content_bytes_max) return false;
  if (read_up_to(readable, 0, etag_content_bytes_max, content) != 0) return false;
  return etag.substr(1 + state.size()) == hex(content);
}

}  // namespace sbx::fs
