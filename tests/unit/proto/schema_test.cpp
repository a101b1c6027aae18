#include "proto/schema.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "proto/catalog.hpp"
#include "proto/method_list.hpp"

using namespace sbx::proto;

TEST_CASE("schema: says types, limits, defaults and what is required") {
  const auto schema = schema_of(shape_of<pty_open_params>::value);
  CHECK(schema["additionalProperties"] == false);
  CHECK(schema["properties"]["rows"]["minimum"] == 1);
  CHECK(schema["properties"]["rows"]["maximum"] == 65535);
  CHECK(schema["properties"]["rows"]["default"] == 24);
  CHECK(schema["required"] == json::array({"workspace"}));
  const auto read = schema_of(shape_of<fs_read_params>::value);
  CHECK(read["properties"].contains("path_base64"));
  const auto run = schema_of(shape_of<exec_run_result>::value);
  CHECK(run["properties"]["exit"]["type"] == json::array({"object", "null"}));
}

TEST_CASE("schema: the OpenRPC document names every method once") {
  const auto document = json::parse(openrpc_text());
  CHECK(document["openrpc"].get<std::string>().starts_with("1."));
  CHECK(document["methods"].size() == method_catalog().size());
  for (const auto& method : document["methods"]) {
    CHECK(method.contains("params"));
    CHECK(method["result"].contains("schema"));
    for (const auto& error : method["errors"])
      CHECK(document["components"]["errors"].contains(error["$ref"].get<std::string>().substr(20)));
  }
}

TEST_CASE("schema: every method of sections 4 to 6 takes a session, every one that answers bytes an encoding") {
  for (const auto& method : method_catalog()) {
    const auto schema = schema_of(*method.params);
    const auto family = method.name.substr(0, method.name.find('.'));
    if (family != "system" && family != "rpc" && family != "policy" && method.name != "session.open")
      CHECK_MESSAGE(schema["properties"].contains("session"), method.name);
    for (const std::string_view name :
         {"exec.run", "shell.run", "job.collect", "job.read", "job.follow", "pty.read", "pty.follow", "fs.read"})
      if (method.name == name) CHECK_MESSAGE(schema["properties"].contains("encoding"), name);
  }
}

TEST_CASE("schema: the documentation mentions every method and notification") {
  const std::string text = render_api_markdown();
  for (const auto& method : method_catalog())
    CHECK(text.find("### " + std::string(method.name) + "\n") != std::string::npos);
  for (const auto& note : notification_catalog())
    CHECK(text.find("### " + std::string(note.name) + "\n") != std::string::npos);
}
