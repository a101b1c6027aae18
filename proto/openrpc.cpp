#include <algorithm>
#include <nlohmann/json.hpp>

#include "proto/catalog.hpp"
#include "proto/schema.hpp"

namespace sbx::proto {
namespace {

json params_of(const shape& type) {
  json schema = schema_of(type);
  json out = json::array();
  if (!schema.contains("properties")) return out;
  const json required = schema.value("required", json::array());
  for (auto& [name, property] : schema["properties"].items()) {
    json entry = {{"name", name}, {"schema", property}};
    entry["description"] = property.value("description", "");
    entry["required"] = std::find(required.begin(), required.end(), name) != required.end();
    out.push_back(std::move(entry));
  }
  return out;
}

json error_object(error_kind kind) {
  return {{"code", code_of(kind)},
          {"message", std::string(meaning_of(kind))},
          {"data", {{"kind", std::string(word(kind))}}}};
}

json method_object(const method_entry& method) {
  json errors = json::array();
  for (const error_kind kind : errors_of(method.name))
    errors.push_back({{"$ref", "#/components/errors/" + std::string(word(kind))}});
  json out = {{"name", std::string(method.name)},
              {"summary", std::string(method.summary)},
              {"paramStructure", "by-name"},
              {"params", params_of(*method.params)},
              {"x-params-schema", schema_of(*method.params)},
              {"result", {{"name", "result"}, {"schema", schema_of(*method.result)}}},
              {"errors", std::move(errors)}};
  const auto dot = method.name.find('.');
  out["tags"] = json::array({json{{"name", std::string(method.name.substr(0, dot))}}});
  return out;
}

std::string make_openrpc() {
  json methods = json::array();
  for (const method_entry& method : method_catalog()) methods.push_back(method_object(method));
  json notes = json::array();
  for (const notification_entry& note : notification_catalog())
    notes.push_back({{"name", std::string(note.name)},
                     {"summary", std::string(note.summary)},
                     {"params", params_of(*note.params)}});
  json errors = json::object();
  for (const std::string_view& kind : words<error_kind>::list)
    errors[std::string(kind)] = error_object(static_cast<error_kind>(&kind - words<error_kind>::list));
  const json document = {
      {"openrpc", "1.2.6"},
      {"info", {{"title", "sbxd"}, {"version", "1"}, {"description", "Sandboxed workspaces over a Unix socket."}}},
      {"methods", std::move(methods)},
      {"components", {{"errors", std::move(errors)}}},
      {"x-notifications", std::move(notes)},
      {"x-client-requests", json::array({method_object(authorize_entry())})}};
  return document.dump();
}

}  // namespace

const std::string& openrpc_text() {
  static const std::string text = make_openrpc();
  return text;
}

}  // namespace sbx::proto
