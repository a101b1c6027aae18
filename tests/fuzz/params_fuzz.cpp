// The parameters of each method (first byte: which): what decodes must encode to something that decodes to the same.
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "proto/catalog.hpp"
#include "proto/codec.hpp"
#include "proto/json_text.hpp"

using namespace sbx::proto;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const auto& methods = method_catalog();
  const method_entry& method = methods[data[0] % methods.size()];
  json value;
  if (parse_json(std::string_view(reinterpret_cast<const char*>(data) + 1, size - 1), 64, value) != text_verdict::ok)
    return 0;
  struct context {
    const json& value;
    const shape& type;
    std::string first;
  } at{value, *method.params, {}};
  method.params->with_default(&at, [](void* p, void* target) {
    auto& to = *static_cast<context*>(p);
    if (!decode_value(to.value, target, to.type)) encode_value(target, to.type, to.first);
  });
  if (at.first.empty()) return 0;
  const json again = json::parse(at.first, nullptr, false);
  if (again.is_discarded()) std::abort();
  context second{again, *method.params, {}};
  method.params->with_default(&second, [](void* p, void* target) {
    auto& to = *static_cast<context*>(p);
    if (decode_value(to.value, target, to.type)) std::abort();
    encode_value(target, to.type, to.first);
  });
  if (second.first != at.first) std::abort();
  return 0;
}
