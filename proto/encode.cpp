#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "proto/bytes.hpp"
#include "proto/codec.hpp"
#include "proto/utf8.hpp"

namespace sbx::proto {
namespace {

constexpr std::uint64_t every(std::uint8_t byte) {
  return 0x0101010101010101ULL * byte;
}
constexpr std::uint64_t zero_bytes(std::uint64_t word) {
  return (word - every(1)) & ~word & every(0x80);
}

bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

// Length of the longest prefix that stands for itself in a JSON string: ASCII, no control, quote or backslash.
std::size_t plain_prefix(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size()) {
    if (n + 8 <= text.size()) {
      std::uint64_t word;
      std::memcpy(&word, text.data() + n, 8);
      const std::uint64_t control = (word - every(0x20)) & ~word & every(0x80);  // may cry wolf, never misses one
      if (!((word & every(0x80)) | control | zero_bytes(word ^ every('"')) | zero_bytes(word ^ every('\\')))) {
        n += 8;
        continue;
      }
    }
    for (const std::size_t end = std::min(n + 8, text.size()); n < end; ++n)
      if (!is_plain(text[n])) return n;
  }
  return n;
}

void append_escape(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default: {
      constexpr char hex[] = "0123456789abcdef";
      out += "\\u00";
      out += hex[(c >> 4) & 0xF];
      out += hex[c & 0xF];
    }
  }
}

void encode_bytes_value(const std::string& bytes, std::string& out) {
  if (is_utf8(bytes)) return append_json_string(out, bytes);
  out += "{\"base64\":\"";
  base64_append(out, bytes);
  out += "\"}";
}

void encode_real(double number, std::string& out) {
  if (!std::isfinite(number)) {
    out += "null";
    return;
  }
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  out.append(text.data(), end);
}

// Writes "NAME": with a comma where one is needed.
void begin_member(std::string& out, std::string_view name) {
  if (out.back() != '{') out += ',';
  append_json_string(out, name);
  out += ':';
}

void encode_payload(const payload& content, std::string& out) {
  const bool valid = is_utf8(content.bytes);
  const encoding how = content.forced.value_or(valid ? encoding::utf8 : encoding::base64);
  begin_member(out, "data");
  if (how == encoding::utf8) {
    append_json_string(out, content.bytes);
  } else {
    out += '"';
    base64_append(out, content.bytes);
    out += '"';
  }
  begin_member(out, "encoding");
  append_json_string(out, word(how));
  if (how == encoding::utf8 && !valid) {
    begin_member(out, "lossy");
    out += "true";
  }
}

void encode_path(const member& m, std::string& out) {
  const void* source = m.target;
  if (m.type->kind == kind::optional) {
    if (m.type->size(source) == 0) return;
    source = m.type->at(source, 0);
  }
  const auto& bytes = *static_cast<const std::string*>(source);
  const bool valid = is_utf8(bytes);
  if (valid || m.how == member_kind::path_out) {
    begin_member(out, m.name);
    append_json_string(out, bytes);
  }
  if (valid) return;
  begin_member(out, std::string(m.name) + "_base64");
  out += '"';
  base64_append(out, bytes);
  out += '"';
}

bool is_absent(const member& m) {
  if (m.required || !m.type) return false;
  if (m.type->kind == kind::optional) return m.type->size(m.target) == 0;
  if (m.type->kind == kind::nullable) return !*m.type->present(m.target);
  return false;
}

void encode_member(const member& m, std::string& out) {
  if (m.how == member_kind::payload) {
    if (m.required) return encode_payload(*static_cast<const payload*>(m.target), out);
    const auto& content = *static_cast<const std::optional<payload>*>(m.target);
    if (content) encode_payload(*content, out);
    return;
  }
  if (m.how != member_kind::plain) return encode_path(m, out);
  if (is_absent(m)) return;
  begin_member(out, m.name);
  encode_value(m.target, *m.type, out);
}

void encode_record(const void* source, const shape& type, std::string& out) {
  visitor v;
  type.describe(const_cast<void*>(source), v);  // describing only takes addresses
  out += '{';
  for (const member& m : v.members) encode_member(m, out);
  out += '}';
}

void encode_list(const void* source, const shape& type, std::string& out) {
  out += '[';
  for (std::size_t n = 0; n < type.size(source); ++n) {
    if (n > 0) out += ',';
    encode_value(type.at(source, n), *type.inner, out);
  }
  out += ']';
}

void encode_map(const void* source, const shape& type, std::string& out) {
  struct context {
    std::string& out;
    const shape& inner;
  } at{out, *type.inner};
  out += '{';
  type.each(source, &at, [](void* p, const std::string& name, const void* value) {
    auto& to = *static_cast<context*>(p);
    begin_member(to.out, name);
    encode_value(value, to.inner, to.out);
  });
  out += '}';
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const std::size_t plain = plain_prefix(text);
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    if (static_cast<unsigned char>(text.front()) < 0x80) {
      append_escape(out, text.front());
      text.remove_prefix(1);
      continue;
    }
    const utf8_step step = step_utf8(text);
    out.append(step.verdict == utf8_verdict::valid ? text.substr(0, step.bytes) : std::string_view("\xEF\xBF\xBD"));
    text.remove_prefix(step.bytes);
  }
  out += '"';
}

void encode_value(const void* source, const shape& type, std::string& out) {
  switch (type.kind) {
    case kind::boolean:
      out += *static_cast<const bool*>(source) ? "true" : "false";
      return;
    case kind::int64:
      out += std::to_string(*static_cast<const std::int64_t*>(source));
      return;
    case kind::uint64:
      out += std::to_string(*static_cast<const std::uint64_t*>(source));
      return;
    case kind::real:
      return encode_real(*static_cast<const double*>(source), out);
    case kind::text:
      return append_json_string(out, *static_cast<const std::string*>(source));
    case kind::c_bytes:
      return encode_bytes_value(static_cast<const c_bytes*>(source)->value, out);
    case kind::any_bytes:
      return encode_bytes_value(static_cast<const any_bytes*>(source)->value, out);
    case kind::raw:
      out += static_cast<const raw_json*>(source)->text;
      return;
    case kind::fd_index:
      out += "{\"fd\":" + std::to_string(static_cast<const fd_index*>(source)->index) + "}";
      return;
    case kind::word:
      return append_json_string(out, type.words[static_cast<std::size_t>(type.word_get(source))]);
    case kind::optional:
    case kind::nullable:
      if (type.size(source) == 0) {
        out += "null";
        return;
      }
      return encode_value(type.at(source, 0), *type.inner, out);
    case kind::list:
      return encode_list(source, type, out);
    case kind::map:
      return encode_map(source, type, out);
    case kind::record:
      return encode_record(source, type, out);
    case kind::custom:
      return type.encode(source, out);
  }
}

json encode_json_value(const void* source, const shape& type) {
  std::string text;
  encode_value(source, type, text);
  return json::parse(text);
}

}  // namespace sbx::proto
