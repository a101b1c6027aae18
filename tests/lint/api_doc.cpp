// sbx-api-doc: prints docs/api.md, or with --openrpc the OpenRPC document.
#include <cstdio>
#include <string_view>

#include "proto/schema.hpp"

int main(int argc, char** argv) {
  const bool openrpc = argc == 2 && std::string_view(argv[1]) == "--openrpc";
  const std::string text = openrpc ? sbx::proto::openrpc_text() + "\n" : sbx::proto::render_api_markdown();
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  return written && std::fflush(stdout) == 0 ? 0 : 1;
}
