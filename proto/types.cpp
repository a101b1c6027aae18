#include "proto/types.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "proto/bytes.hpp"
#include "proto/codec.hpp"
#include "proto/methods/fs.hpp"
#include "proto/methods/workspace.hpp"

namespace sbx::proto {

// --- request_id ---

std::optional<fault> request_id::decode_json(const json& in, request_id& out) {
  if (in.is_null())
    out.value = std::monostate();
  else if (in.is_string())
    out.value = in.get_ref<const std::string&>();
  else if (in.is_number_unsigned() && in.get<std::uint64_t>() > INT64_MAX)
    out.value = in.get<std::uint64_t>();
  else if (in.is_number_integer())
    out.value = in.get<std::int64_t>();
  else
    return fault("", "must be a string, an integer or null");
  return std::nullopt;
}

void request_id::encode_json(const request_id& id, std::string& out) {
  if (const auto* text = std::get_if<std::string>(&id.value))
    append_json_string(out, *text);
  else if (const auto* number = std::get_if<std::int64_t>(&id.value))
    out += std::to_string(*number);
  else if (const auto* large = std::get_if<std::uint64_t>(&id.value))
    out += std::to_string(*large);
  else
    out += "null";
}

void request_id::schema_json(json& out) {
  out = {{"type", {"string", "integer", "null"}}};
}

std::string to_json_text(const request_id& id) {
  std::string out;
  request_id::encode_json(id, out);
  return out;
}

// --- network_choice ---

namespace {

constexpr std::string_view network_words[] = {"none", "host", "bridge"};

std::optional<fault> decode_network_object(const json& in, network_choice& out) {
  for (const auto& [name, value] : in.get_ref<const json::object_t&>())
    if (name != "name" && name != "allow") return fault("/" + escape_pointer(name), "is not known here");
  if (in.size() != 1) return fault("", "must have either \"name\" or \"allow\"");
  if (const auto found = in.find("name"); found != in.end()) {
    if (!found->is_string() || found->get_ref<const std::string&>().empty()) return fault("/name", "must be a name");
    out.mode = network_choice::form::named;
    out.name = found->get_ref<const std::string&>();
    if (!no_nul(out.name)) return fault("/name", "must not contain NUL");
    return std::nullopt;
  }
  out.mode = network_choice::form::allow;
  if (auto wrong = decode_value(in["allow"], &out.allow, shape_of<std::vector<std::string>>::value))
    return fault("/allow" + wrong->path, wrong->message);
  return std::nullopt;
}

}  // namespace

std::optional<fault> network_choice::decode_json(const json& in, network_choice& out) {
  out = network_choice();
  if (in.is_object()) return decode_network_object(in, out);
  if (in.is_string()) {
    const auto found = std::find(std::begin(network_words), std::end(network_words), in.get_ref<const std::string&>());
    if (found != std::end(network_words)) {
      out.mode = static_cast<form>(found - std::begin(network_words));
      return std::nullopt;
    }
  }
  return fault("", "must be \"none\", \"host\", \"bridge\", {\"name\": …} or {\"allow\": […]}");
}

void network_choice::encode_json(const network_choice& value, std::string& out) {
  if (value.mode == form::named) {
    out += "{\"name\":";
    append_json_string(out, value.name);
    out += '}';
  } else if (value.mode == form::allow) {
    out += "{\"allow\":";
    encode_value(&value.allow, shape_of<std::vector<std::string>>::value, out);
    out += '}';
  } else {
    append_json_string(out, network_words[static_cast<std::size_t>(value.mode)]);
  }
}

void network_choice::schema_json(json& out) {
  const json words = {{"enum", {"none", "host", "bridge"}}};
  const json named = {{"type", "object"},
                      {"properties", {{"name", {{"type", "string"}}}}},
                      {"required", json::array({"name"})},
                      {"additionalProperties", false}};
  const json allow = {{"type", "object"},
                      {"properties", {{"allow", {{"type", "array"}, {"items", {{"type", "string"}}}}}}},
                      {"required", json::array({"allow"})},
                      {"additionalProperties", false}};
  out = {{"oneOf", json::array({words, named, allow})}};
}

// --- paths ---

void fs_glob_result::add(std::string bytes) {
  if (!is_utf8(bytes)) {
    exact_path entry;
    entry.index = static_cast<std::int64_t>(paths.size());
    entry.path_base64 = base64_encode(bytes);
    exact.push_back(std::move(entry));
  }
  paths.push_back(std::move(bytes));
}

// --- words ---

bool no_nul(std::string_view text) {
  return text.find('\0') == std::string_view::npos;
}

bool is_env_name(std::string_view text) {
  return !text.empty() && text.find('=') == std::string_view::npos && no_nul(text);
}

bool is_octal_mode(std::string_view text) {
  if (text.empty() || text.size() > 5) return false;
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 8);
  return error == std::errc() && end == text.data() + text.size() && value <= 07777;
}

bool is_sha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

bool is_user(std::string_view text) {
  const auto is_number = [](std::string_view part) {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    return !part.empty() && error == std::errc() && end == part.data() + part.size() && value != UINT32_MAX;
  };
  const auto colon = text.find(':');
  return colon != std::string_view::npos && is_number(text.substr(0, colon)) && is_number(text.substr(colon + 1));
}

}  // namespace sbx::proto
