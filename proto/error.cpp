#include "proto/error.hpp"

#include <nlohmann/json.hpp>

#include "proto/codec.hpp"

namespace sbx::proto {
namespace {

// In the order of error_kind.
constexpr int codes[] = {-32700, -32600, -32601, -32602, -32603, -32800, -32001, -32002, -32003, -32004, -32005,
                         -32006, -32007, -32008, -32009, -32010, -32011, -32012, -32013, -32014, -32015};
static_assert(std::size(codes) == std::size(words<error_kind>::list));

std::optional<error_kind> kind_of_word(std::string_view text) {
  for (std::size_t n = 0; n < std::size(words<error_kind>::list); ++n)
    if (words<error_kind>::list[n] == text) return static_cast<error_kind>(n);
  return std::nullopt;
}

}  // namespace

int code_of(error_kind kind) {
  return codes[static_cast<std::size_t>(kind)];
}

std::optional<error_kind> kind_of_code(std::int64_t code) {
  for (std::size_t n = 0; n < std::size(codes); ++n)
    if (codes[n] == code) return static_cast<error_kind>(n);
  return std::nullopt;
}

wire_error::wire_error(const fault& wrong) : kind(error_kind::invalid_params) {
  message = wrong.path.empty() ? "The parameters are invalid: the object " + wrong.message + "."
                               : "The parameter " + wrong.path + " " + wrong.message + ".";
  with("path", wrong.path);
}

wire_error& wire_error::with(std::string name, std::string_view text) {
  std::string value;
  append_json_string(value, text);
  data.emplace_back(std::move(name), std::move(value));
  return *this;
}

wire_error& wire_error::with(std::string name, std::int64_t number) {
  data.emplace_back(std::move(name), std::to_string(number));
  return *this;
}

wire_error& wire_error::with(std::string name, bool flag) {
  data.emplace_back(std::move(name), flag ? "true" : "false");
  return *this;
}

wire_error& wire_error::with(std::string name, const std::vector<std::int64_t>& numbers) {
  data.emplace_back(std::move(name), encode_text(numbers));
  return *this;
}

std::string wire_error::render() const {
  std::string out = "{\"code\":" + std::to_string(code_of(kind)) + ",\"message\":";
  append_json_string(out, message);
  out += ",\"data\":{\"kind\":";
  append_json_string(out, word(kind));
  for (const error_member& m : data) {
    out += ',';
    append_json_string(out, m.name);
    out += ':';
    out += m.json_text;
  }
  out += "}}";
  return out;
}

std::string_view wire_error::member(std::string_view name) const {
  for (const error_member& m : data)
    if (m.name == name) return m.json_text;
  return {};
}

std::optional<std::string> wire_error::text_member(std::string_view name) const {
  const json value = json::parse(member(name), nullptr, false);
  if (!value.is_string()) return std::nullopt;
  return value.get<std::string>();
}

wire_error wire_error::parse(const json& object) {
  wire_error made;
  if (!object.is_object()) return made;
  if (const auto code = object.find("code"); code != object.end() && code->is_number_integer())
    made.kind = kind_of_code(code->get<std::int64_t>()).value_or(error_kind::internal);
  if (const auto text = object.find("message"); text != object.end() && text->is_string())
    made.message = text->get<std::string>();
  const auto data = object.find("data");
  if (data == object.end() || !data->is_object()) return made;
  for (const auto& [name, value] : data->get_ref<const json::object_t&>()) {
    if (name == "kind" && value.is_string())
      made.kind = kind_of_word(value.get_ref<const std::string&>()).value_or(made.kind);
    else
      made.data.emplace_back(name, value.dump(-1, ' ', false, json::error_handler_t::replace));
  }
  return made;
}

}  // namespace sbx::proto
