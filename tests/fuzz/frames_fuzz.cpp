// The socket's bytes, fed in pieces: framing, then every frame through the envelope and the params of its method.
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "proto/catalog.hpp"
#include "proto/codec.hpp"
#include "proto/framing.hpp"
#include "proto/jsonrpc.hpp"

using namespace sbx::proto;

namespace {

void take(const message& one) {
  if (const auto* wrong = std::get_if<bad_message>(&one)) {
    if (!json::accept(make_error(wrong->id, wrong->error))) std::abort();
    return;
  }
  const auto* made = std::get_if<call>(&one);
  if (!made) return;
  if (made->id && !json::accept(make_result(*made->id, "{}"))) std::abort();
  for (const method_entry& method : method_catalog()) {
    if (method.name != made->method) continue;
    struct context {
      const document& params;
      const shape& type;
    } at{made->params, *method.params};
    method.params->with_default(&at, [](void* p, void* target) {
      const auto& to = *static_cast<context*>(p);
      if (const auto wrong = decode_params_value(to.params, target, to.type))
        if (!json::accept(wrong->render())) std::abort();
    });
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = data[0] % 64 + 1;
  std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  frame_parser parser(4096);
  std::uint64_t last_end = 0;
  const auto drain = [&] {
    while (auto one = parser.next()) {
      if (one->begin < last_end || one->end <= one->begin || one->end > parser.fed() || one->text.size() > 4096)
        std::abort();
      last_end = one->end;
      for (const message& each : parse_frame(one->text).messages) take(each);
    }
  };
  while (!bytes.empty()) {
    parser.feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    drain();
  }
  parser.finish();
  drain();
  return 0;
}
