#include "proto/jsonrpc.hpp"

#include <nlohmann/json.hpp>

#include "proto/codec.hpp"
#include "proto/json_text.hpp"

namespace sbx::proto {
namespace {

bad_message invalid_request(request_id id, std::string message) {
  return bad_message(std::move(id), wire_error(error_kind::invalid_request, std::move(message)));
}

document keep(json& value) {
  return std::make_shared<json>(std::move(value));
}

message classify_response(json& object, request_id id) {
  response made;
  made.id = std::move(id);
  if (const auto found = object.find("error"); found != object.end())
    made.error = wire_error::parse(*found);
  else
    made.result = keep(object["result"]);
  return made;
}

message classify_call(json& object, std::optional<request_id> id) {
  call made;
  made.method = object["method"].get<std::string>();
  if (const auto params = object.find("params"); params != object.end()) {
    if (!params->is_object() && id) return bad_message(*id, wire_error(fault("", "must be given as a JSON object")));
    made.params = keep(*params);
  }
  made.id = std::move(id);
  return made;
}

message classify(json& object) {
  if (!object.is_object()) return invalid_request({}, "A message must be a JSON object.");
  std::optional<request_id> id;
  if (const auto found = object.find("id"); found != object.end()) {
    if (request_id::decode_json(*found, id.emplace()))
      return invalid_request({}, "The id must be a string, an integer of at most 64 bits or null.");
  }
  const auto version = object.find("jsonrpc");
  if (version == object.end() || *version != "2.0")
    return invalid_request(id.value_or(request_id()), "The member \"jsonrpc\" must be \"2.0\".");
  const auto method = object.find("method");
  if (method == object.end() && id && (object.contains("result") || object.contains("error")))
    return classify_response(object, std::move(*id));
  if (method == object.end() || !method->is_string())
    return invalid_request(id.value_or(request_id()), "The member \"method\" must be a string.");
  return classify_call(object, std::move(id));
}

parsed_frame single(message only) {
  parsed_frame made;
  made.messages.push_back(std::move(only));
  return made;
}

parsed_frame parse_batch(json& array, std::size_t batch_max) {
  if (array.empty()) return single(invalid_request({}, "A batch must not be empty."));
  if (array.size() > batch_max)
    return single(invalid_request({}, "A batch may have at most " + std::to_string(batch_max) + " entries."));
  parsed_frame made;
  made.batch = true;
  for (json& entry : array) made.messages.push_back(classify(entry));
  return made;
}

bad_message not_json() {
  return bad_message(request_id(), wire_error(error_kind::parse_error, "The message is not valid JSON."));
}

parsed_frame too_deep(std::string_view text, int depth_max) {
  const text_outline outline = outline_json(text);
  if (!outline.well_formed) return single(not_json());
  return single(invalid_request(outline.id.value_or(request_id()),
                                "The message is nested more than " + std::to_string(depth_max) + " levels deep."));
}

}  // namespace

parsed_frame parse_frame(std::string_view text, const parse_limits& limits) {
  json value;
  switch (parse_json(text, limits.depth_max, value)) {
    case text_verdict::too_deep:
      return too_deep(text, limits.depth_max);
    case text_verdict::malformed:
      return single(not_json());
    case text_verdict::ok:
      break;
  }
  if (value.is_array()) return parse_batch(value, limits.batch_max);
  return single(classify(value));
}

std::optional<wire_error> decode_params_value(const document& params, void* target, const shape& type) {
  static const json empty = json::object();
  if (auto wrong = decode_value(params ? *params : empty, target, type)) return wire_error(*wrong);
  return std::nullopt;
}

namespace {

std::string envelope(const request_id& id, std::string_view name, std::string_view value_json) {
  std::string out;
  out.reserve(value_json.size() + 64);
  out += "{\"jsonrpc\":\"2.0\",\"id\":";
  request_id::encode_json(id, out);
  out += ",\"";
  out += name;
  out += "\":";
  out += value_json;
  out += '}';
  return out;
}

void append_call(std::string& out, std::string_view method, std::string_view params_json) {
  out += "\"method\":";
  append_json_string(out, method);
  out += ",\"params\":";
  out += params_json;
  out += '}';
}

}  // namespace

std::string make_result(const request_id& id, std::string_view result_json) {
  return envelope(id, "result", result_json);
}

std::string make_error(const request_id& id, const wire_error& error) {
  return envelope(id, "error", error.render());
}

std::string make_request(const request_id& id, std::string_view method, std::string_view params_json) {
  std::string out = "{\"jsonrpc\":\"2.0\",\"id\":";
  out.reserve(params_json.size() + method.size() + 96);
  request_id::encode_json(id, out);
  out += ',';
  append_call(out, method, params_json);
  return out;
}

std::string make_notification(std::string_view method, std::string_view params_json) {
  std::string out = "{\"jsonrpc\":\"2.0\",";
  out.reserve(params_json.size() + method.size() + 64);
  append_call(out, method, params_json);
  return out;
}

std::string make_batch(const std::vector<std::string>& messages) {
  std::string out = "[";
  for (const std::string& message : messages) {
    if (out.size() > 1) out += ',';
    out += message;
  }
  out += ']';
  return out;
}

}  // namespace sbx::proto
