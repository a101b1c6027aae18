#include "proto/schema.hpp"

#include <nlohmann/json.hpp>

#include "proto/codec.hpp"

namespace sbx::proto {
namespace {

json value_schema(const shape& type, const limits& lim);

json number_schema(const char* word, const limits& lim) {
  json out = {{"type", word}};
  if (lim.min != limits().min) out["minimum"] = lim.min;
  if (lim.max != limits().max) out["maximum"] = lim.max;
  return out;
}

json bytes_schema() {
  const json exact = {{"type", "object"},
                      {"properties", {{"base64", {{"type", "string"}}}}},
                      {"required", json::array({"base64"})},
                      {"additionalProperties", false}};
  return {{"oneOf", json::array({json{{"type", "string"}}, exact})}};
}

json fd_schema() {
  return {{"type", "object"},
          {"properties", {{"fd", {{"type", "integer"}, {"minimum", 0}, {"maximum", 7}}}}},
          {"required", json::array({"fd"})},
          {"additionalProperties", false}};
}

json word_schema(const shape& type) {
  json list = json::array();
  for (std::size_t n = 0; n < type.word_count; ++n) list.push_back(std::string(type.words[n]));
  return {{"type", "string"}, {"enum", std::move(list)}};
}

json or_null(json inner) {
  if (inner.contains("type") && inner["type"].is_string() && !inner.contains("enum")) {
    inner["type"] = json::array({inner["type"], "null"});
    return inner;
  }
  return {{"oneOf", json::array({std::move(inner), json{{"type", "null"}}})}};
}

json list_schema(const shape& type, const limits& lim) {
  limits inner = lim;
  inner.items_min = 0;
  inner.items_max = limits().items_max;
  json out = {{"type", "array"}, {"items", value_schema(*type.inner, inner)}};
  if (lim.items_min != 0) out["minItems"] = lim.items_min;
  if (lim.items_max != limits().items_max) out["maxItems"] = lim.items_max;
  return out;
}

// Adds the properties of one member.
void add_member(const member& m, json& properties, json& required) {
  const auto add = [&](std::string name, json schema, std::string text) {
    schema["description"] = std::move(text);
    properties[std::move(name)] = std::move(schema);
  };
  const std::string name(m.name);
  const std::string text(m.text);
  switch (m.how) {
    case member_kind::payload:
      add("data", {{"type", "string"}}, text);
      add("encoding", word_schema(shape_of<encoding>::value), "How data is written; absent: utf-8.");
      break;
    case member_kind::path_in:
    case member_kind::path_out:
      add(name, {{"type", "string"}}, text);
      add(name + "_base64", {{"type", "string"}}, "Exact bytes of " + name + " where it is not UTF-8.");
      break;
    case member_kind::plain: {
      const bool optional = !m.required && m.type->kind == kind::optional;
      json schema = value_schema(optional ? *m.type->inner : *m.type, m.limits);
      const bool has_default = !m.required && !optional && m.type->kind != kind::nullable;
      if (has_default) schema["default"] = encode_json_value(m.target, *m.type);
      add(name, std::move(schema), text);
    }
  }
  if (m.required && m.how != member_kind::path_in) required.push_back(name);
}

// A path may be given in two ways; a choice is exactly one of several.
void add_choices(const visitor& v, json& out) {
  json all = json::array();
  const auto one_of = [](const std::vector<std::string>& names) {
    json alternatives = json::array();
    for (const auto& name : names) alternatives.push_back({{"required", json::array({name})}});
    return json{{"oneOf", std::move(alternatives)}};
  };
  for (const member& m : v.members)
    if (m.required && m.how == member_kind::path_in)
      all.push_back(one_of({std::string(m.name), std::string(m.name) + "_base64"}));
  for (const choice& c : v.choices)
    if (c.required) all.push_back(one_of({c.names.begin(), c.names.end()}));
  if (!all.empty()) out["allOf"] = std::move(all);
}

json record_schema(const shape& type) {
  json out = {{"type", "object"}, {"properties", json::object()}, {"additionalProperties", false}};
  visit_record(type, &out, [](void* context, const visitor& v) {
    json& made = *static_cast<json*>(context);
    json required = json::array();
    for (const member& m : v.members) add_member(m, made["properties"], required);
    if (!required.empty()) made["required"] = std::move(required);
    add_choices(v, made);
  });
  return out;
}

json value_schema(const shape& type, const limits& lim) {
  switch (type.kind) {
    case kind::boolean:
      return {{"type", "boolean"}};
    case kind::int64:
      return number_schema("integer", lim);
    case kind::uint64:
      return {{"type", "integer"}, {"minimum", 0}};
    case kind::real:
      return number_schema("number", lim);
    case kind::text:
      return {{"type", "string"}};
    case kind::c_bytes:
    case kind::any_bytes:
      return bytes_schema();
    case kind::raw:
      return json::object();
    case kind::fd_index:
      return fd_schema();
    case kind::word:
      return word_schema(type);
    case kind::optional:
    case kind::nullable:
      return or_null(value_schema(*type.inner, lim));
    case kind::list:
      return list_schema(type, lim);
    case kind::map:
      return {{"type", "object"}, {"additionalProperties", value_schema(*type.inner, limits())}};
    case kind::record:
      return record_schema(type);
    case kind::custom: {
      json out;
      type.schema(out);
      return out;
    }
  }
  return json::object();
}

}  // namespace

void visit_record(const shape& type, void* context, void (*use)(void*, const visitor&)) {
  struct frame {
    const shape& type;
    void* context;
    void (*use)(void*, const visitor&);
  } at{type, context, use};
  type.with_default(&at, [](void* p, void* made) {
    const auto& to = *static_cast<frame*>(p);
    visitor v;
    to.type.describe(made, v);
    to.use(to.context, v);
  });
}

json schema_of(const shape& type) {
  return value_schema(type, limits());
}

}  // namespace sbx::proto
