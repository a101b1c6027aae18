// Any bytes through UTF-8 and base64.
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "proto/bytes.hpp"
#include "proto/codec.hpp"

using namespace sbx::proto;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (base64_decode(base64_encode(bytes)) != bytes) std::abort();
  if (const auto decoded = base64_decode(bytes); decoded && base64_encode(*decoded) != bytes) std::abort();
  const std::string replaced = replace_invalid_utf8(bytes);
  if (!is_utf8(replaced) || (is_utf8(bytes) && replaced != bytes)) std::abort();
  std::string quoted;
  append_json_string(quoted, bytes);
  const auto parsed = nlohmann::json::parse(quoted, nullptr, false);
  if (!parsed.is_string() || parsed.get_ref<const std::string&>() != replaced) std::abort();
  const std::size_t tail = incomplete_tail(bytes);
  if (tail > 3 || tail > size) std::abort();
  if (is_utf8(bytes) && tail != 0) std::abort();
  return 0;
}
