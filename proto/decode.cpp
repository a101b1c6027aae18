#include <algorithm>
#include <nlohmann/json.hpp>

#include "proto/bytes.hpp"
#include "proto/codec.hpp"
#include "proto/json_text.hpp"

namespace sbx::proto {
namespace {

using verdict = std::optional<fault>;

verdict wrong(std::string message) {
  return fault("", std::move(message));
}

// Puts a step before the path of what went wrong beneath it.
verdict beneath(std::string_view step, verdict inner) {
  if (inner) inner->path.insert(0, "/" + escape_pointer(step));
  return inner;
}

class decoder {
 public:
  explicit decoder(unknown_members unknown) : unknown_(unknown) {}
  verdict value(const json& in, void* target, const shape& type, const limits& lim) const;

 private:
  struct record_state;
  verdict number(const json& in, void* target, const shape& type, const limits& lim) const;
  verdict bytes(const json& in, std::string& out, bool nul_allowed) const;
  verdict word(const json& in, void* target, const shape& type) const;
  verdict list(const json& in, void* target, const shape& type, const limits& lim) const;
  verdict map(const json& in, void* target, const shape& type, const limits& lim) const;
  verdict record(const json& in, void* target, const shape& type) const;
  verdict member_value(const std::string& name, const json& in, record_state& state) const;
  verdict finish_path(std::size_t n, record_state& state) const;
  verdict finish(record_state& state) const;

  unknown_members unknown_;
};

verdict in_range(std::int64_t number, const limits& lim) {
  if (number >= lim.min && number <= lim.max) return std::nullopt;
  if (lim.max == limits().max) return wrong("must be at least " + std::to_string(lim.min));
  return wrong("must be from " + std::to_string(lim.min) + " to " + std::to_string(lim.max));
}

verdict decoder::number(const json& in, void* target, const shape& type, const limits& lim) const {
  if (type.kind == kind::real) {
    if (!in.is_number()) return wrong("must be a number");
    const double number = in.get<double>();
    if (number < static_cast<double>(lim.min) || number > static_cast<double>(lim.max))
      return wrong("must be at least " + std::to_string(lim.min));
    *static_cast<double*>(target) = number;
    return std::nullopt;
  }
  if (!in.is_number_integer()) return wrong("must be an integer");
  if (type.kind == kind::uint64) {
    if (!in.is_number_unsigned()) return wrong("must not be negative");
    *static_cast<std::uint64_t*>(target) = in.get<std::uint64_t>();
    return std::nullopt;
  }
  if (in.is_number_unsigned() && in.get<std::uint64_t>() > INT64_MAX) return wrong("is too large");
  *static_cast<std::int64_t*>(target) = in.get<std::int64_t>();
  return in_range(*static_cast<std::int64_t*>(target), lim);
}

verdict decoder::bytes(const json& in, std::string& out, bool nul_allowed) const {
  if (in.is_string()) {
    out = in.get_ref<const std::string&>();
  } else if (in.is_object() && in.size() == 1 && in.contains("base64") && in["base64"].is_string()) {
    auto decoded = base64_decode(in["base64"].get_ref<const std::string&>());
    if (!decoded) return fault("/base64", "must be base64");
    out = std::move(*decoded);
  } else {
    return wrong("must be a string or {\"base64\": …}");
  }
  if (!nul_allowed && !no_nul(out)) return wrong("must not contain NUL");
  return std::nullopt;
}

verdict decoder::word(const json& in, void* target, const shape& type) const {
  std::string expected;
  for (std::size_t n = 0; n < type.word_count; ++n) {
    if (in.is_string() && in.get_ref<const std::string&>() == type.words[n]) {
      type.word_set(target, static_cast<int>(n));
      return std::nullopt;
    }
    expected.append(n == 0 ? "" : ", ").append("\"").append(type.words[n]).append("\"");
  }
  return wrong("must be one of " + expected);
}

verdict item_count(std::size_t count, const limits& lim) {
  if (count < lim.items_min) return wrong("must have at least " + std::to_string(lim.items_min) + " entries");
  if (count > lim.items_max) return wrong("must have at most " + std::to_string(lim.items_max) + " entries");
  return std::nullopt;
}

verdict decoder::list(const json& in, void* target, const shape& type, const limits& lim) const {
  if (!in.is_array()) return wrong("must be an array");
  if (auto bad = item_count(in.size(), lim)) return bad;
  std::size_t n = 0;
  for (const json& entry : in) {
    if (auto bad = value(entry, type.add(target), *type.inner, lim)) return beneath(std::to_string(n), std::move(bad));
    ++n;
  }
  return std::nullopt;
}

verdict decoder::map(const json& in, void* target, const shape& type, const limits& lim) const {
  if (!in.is_object()) return wrong("must be an object");
  if (auto bad = item_count(in.size(), lim)) return bad;
  for (const auto& [name, entry] : in.get_ref<const json::object_t&>()) {
    verdict bad;
    if (lim.accepts && !lim.accepts(name))
      bad = wrong(std::string(lim.expected));
    else
      bad = value(entry, type.insert(target, name), *type.inner, limits());
    if (bad) return beneath(name, std::move(bad));
  }
  return std::nullopt;
}

verdict decoder::value(const json& in, void* target, const shape& type, const limits& lim) const {
  switch (type.kind) {
    case kind::boolean:
      if (!in.is_boolean()) return wrong("must be true or false");
      *static_cast<bool*>(target) = in.get<bool>();
      return std::nullopt;
    case kind::int64:
    case kind::uint64:
    case kind::real:
      return number(in, target, type, lim);
    case kind::text: {
      if (!in.is_string()) return wrong("must be a string");
      auto& text = *static_cast<std::string*>(target);
      text = in.get_ref<const std::string&>();
      if (lim.accepts && !lim.accepts(text)) return wrong(std::string(lim.expected));
      return std::nullopt;
    }
    case kind::c_bytes:
      return bytes(in, static_cast<c_bytes*>(target)->value, false);
    case kind::any_bytes:
      return bytes(in, static_cast<any_bytes*>(target)->value, true);
    case kind::raw:
      static_cast<raw_json*>(target)->text = in.dump(-1, ' ', false, json::error_handler_t::replace);
      return std::nullopt;
    case kind::fd_index: {
      const bool shaped = in.is_object() && in.size() == 1 && in.contains("fd");
      if (!shaped) return wrong("must be {\"fd\": K}");
      return beneath(
          "fd", number(in["fd"], &static_cast<fd_index*>(target)->index, shape_of<std::int64_t>::value, between(0, 7)));
    }
    case kind::word:
      return word(in, target, type);
    case kind::optional:  // in a list, a map or a required member; an optional member's own null is refused by record()
      if (in.is_null()) return std::nullopt;
      return value(in, type.add(target), *type.inner, lim);
    case kind::nullable:
      *type.present(target) = true;
      if (in.is_null()) return std::nullopt;
      return value(in, type.add(target), *type.inner, lim);
    case kind::list:
      return list(in, target, type, lim);
    case kind::map:
      return map(in, target, type, lim);
    case kind::record:
      return record(in, target, type);
    case kind::custom:
      return type.decode(in, target);
  }
  return wrong("is of no known kind");
}

// --- Records ---

struct decoder::record_state {
  visitor v;
  std::vector<char> given;              // by member
  const json* encoding_word = nullptr;  // beside a payload
  const json* data = nullptr;
  std::vector<std::pair<std::size_t, const json*>> exact_paths;  // NAME_base64 of member n
};

constexpr std::string_view exact_suffix = "_base64";

bool is_path(const member& m) {
  return m.how == member_kind::path_in || m.how == member_kind::path_out;
}

verdict decoder::member_value(const std::string& name, const json& in, record_state& state) const {
  for (std::size_t n = 0; n < state.v.members.size(); ++n) {
    const member& m = state.v.members[n];
    if (name == m.name) {
      state.given[n] = 1;
      if (m.how == member_kind::payload) {
        state.data = &in;
        return std::nullopt;
      }
      const shape& type = !m.required && m.type->kind == kind::optional ? *m.type->inner : *m.type;
      void* target = &type == m.type ? m.target : m.type->add(m.target);
      const limits lim = m.how == member_kind::path_in ? c_text : m.limits;
      return value(in, target, type, lim);
    }
    if (m.how == member_kind::payload && name == "encoding") {
      state.encoding_word = &in;
      return std::nullopt;
    }
    if (m.how == member_kind::payload && name == "lossy" && unknown_ == unknown_members::skip) return std::nullopt;
    if (is_path(m) && name.size() == m.name.size() + exact_suffix.size() && name.starts_with(m.name) &&
        name.ends_with(exact_suffix)) {
      state.exact_paths.emplace_back(n, &in);
      return std::nullopt;
    }
  }
  if (unknown_ == unknown_members::skip) return std::nullopt;
  return wrong("is not known here");
}

verdict decoder::finish_path(std::size_t n, record_state& state) const {
  const member& m = state.v.members[n];
  for (const auto& [index, in] : state.exact_paths) {
    if (index != n) continue;
    const std::string name = std::string(m.name) + std::string(exact_suffix);
    if (state.given[n] && m.how == member_kind::path_in)
      return beneath(name, wrong("cannot be given together with \"" + std::string(m.name) + "\""));
    if (!in->is_string()) return beneath(name, wrong("must be a string"));
    auto decoded = base64_decode(in->get_ref<const std::string&>());
    if (!decoded) return beneath(name, wrong("must be base64"));
    if (m.how == member_kind::path_in && !no_nul(*decoded)) return beneath(name, wrong("must not contain NUL"));
    void* target = m.type->kind == kind::optional ? m.type->add(m.target) : m.target;
    *static_cast<std::string*>(target) = std::move(*decoded);
    state.given[n] = 1;
  }
  return std::nullopt;
}

verdict finish_payload(const member& m, const json* data, const json* encoding_word) {
  encoding how = encoding::utf8;
  if (encoding_word) {
    if (auto bad = decode_value(*encoding_word, &how, shape_of<encoding>::value))
      return beneath("encoding", std::move(bad));
    if (!data) return m.required ? std::nullopt : beneath("encoding", wrong("needs \"data\""));
  }
  if (!data) return std::nullopt;
  if (!data->is_string()) return beneath("data", wrong("must be a string"));
  auto& out = m.required ? *static_cast<payload*>(m.target) : static_cast<std::optional<payload>*>(m.target)->emplace();
  const auto& text = data->get_ref<const std::string&>();
  out.forced = encoding_word ? std::optional(how) : std::nullopt;
  if (how == encoding::utf8) {
    out.bytes = text;
    return std::nullopt;
  }
  auto decoded = base64_decode(text);
  if (!decoded) return beneath("data", wrong("must be base64"));
  out.bytes = std::move(*decoded);
  return std::nullopt;
}

verdict check_choice(const choice& c, const visitor& v, const std::vector<char>& given) {
  std::string names;
  std::string_view last_given;
  int count = 0;
  for (const std::string_view name : c.names) {
    names.append(names.empty() ? "\"" : " and \"").append(name).append("\"");
    for (std::size_t n = 0; n < v.members.size(); ++n) {
      if (v.members[n].name != name || !given[n]) continue;
      ++count;
      last_given = name;
    }
  }
  if (count > 1) return beneath(last_given, wrong("only one of " + names + " may be given"));
  if (count == 0 && c.required) return beneath(c.names.front(), wrong("exactly one of " + names + " must be given"));
  return std::nullopt;
}

verdict decoder::finish(record_state& state) const {
  for (std::size_t n = 0; n < state.v.members.size(); ++n) {
    const member& m = state.v.members[n];
    if (is_path(m))
      if (auto bad = finish_path(n, state)) return bad;
    if (m.how == member_kind::payload)
      if (auto bad = finish_payload(m, state.data, state.encoding_word)) return bad;
    if (m.required && !state.given[n]) return beneath(m.name, wrong("is required"));
  }
  for (const choice& c : state.v.choices)
    if (auto bad = check_choice(c, state.v, state.given)) return bad;
  return std::nullopt;
}

verdict decoder::record(const json& in, void* target, const shape& type) const {
  if (!in.is_object()) return wrong("must be an object");
  record_state state;
  type.describe(target, state.v);
  state.given.resize(state.v.members.size());
  for (const auto& [name, entry] : in.get_ref<const json::object_t&>())
    if (auto bad = member_value(name, entry, state)) return beneath(name, std::move(bad));
  return finish(state);
}

verdict describe_outline_error(std::string_view text, const text_outline& outline) {
  const std::string_view before = text.substr(0, std::min(text.size(), outline.error_byte));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const auto line_start = before.rfind('\n');
  const auto column = before.size() - (line_start == std::string_view::npos ? 0 : line_start + 1);
  return wrong("is not JSON: line " + std::to_string(line) + ", column " + std::to_string(column));
}

}  // namespace

std::string escape_pointer(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c == '~')
      out += "~0";
    else if (c == '/')
      out += "~1";
    else
      out += c;
  }
  return out;
}

std::optional<fault> decode_value(const json& value, void* target, const shape& type, unknown_members unknown) {
  return decoder(unknown).value(value, target, type, limits());
}

std::optional<fault> decode_text_value(std::string_view text, void* target, const shape& type, int depth_max) {
  json made;
  switch (parse_json(text, depth_max, made)) {
    case text_verdict::ok:
      return decode_value(made, target, type);
    case text_verdict::too_deep:
      return wrong("is nested too deeply");
    case text_verdict::malformed:
      break;
  }
  return wrong("is not JSON");
}

tl::expected<void, fault> parse_config_text(std::string_view text, json& into) {
  json made = json::parse(text, nullptr, false, true);
  if (made.is_discarded()) return tl::unexpected<fault>(*describe_outline_error(text, outline_config(text)));
  into = std::move(made);
  return {};
}

std::optional<fault> decode_config_value(std::string_view text, void* target, const shape& type) {
  json made;
  if (auto parsed = parse_config_text(text, made); !parsed) return std::move(parsed.error());
  return decode_value(made, target, type);
}

}  // namespace sbx::proto
