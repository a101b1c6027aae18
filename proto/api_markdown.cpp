// docs/api.md from the descriptions.
#include <nlohmann/json.hpp>

#include "proto/catalog.hpp"
#include "proto/codec.hpp"
#include "proto/schema.hpp"

namespace sbx::proto {
namespace {

std::string type_words(const shape& type) {
  switch (type.kind) {
    case kind::boolean:
      return "bool";
    case kind::int64:
    case kind::uint64:
      return "integer";
    case kind::real:
      return "number";
    case kind::text:
      return "string";
    case kind::c_bytes:
    case kind::any_bytes:
      return "string or {`base64`}";
    case kind::raw:
      return "any";
    case kind::fd_index:
      return "{`fd`}";
    case kind::word: {
      std::string out;
      for (std::size_t n = 0; n < type.word_count; ++n)
        out.append(n ? " " : "").append("`").append(type.words[n]).append("`");
      return out;
    }
    case kind::optional:
    case kind::nullable:
      return type_words(*type.inner) + " or null";
    case kind::list:
      return "[" + type_words(*type.inner) + "]";
    case kind::map:
      return "{name: " + type_words(*type.inner) + "}";
    case kind::record:
      return "object";
    case kind::custom: {
      json schema;
      type.schema(schema);
      return schema.contains("oneOf") ? "`none` `host` `bridge`, {`name`} or {`allow`: [string]}"
                                      : "string, integer or null";
    }
  }
  return {};
}

// The record somewhere within a type, if there is one.
const shape* record_within(const shape& type) {
  if (type.kind == kind::record) return &type;
  return type.inner ? record_within(*type.inner) : nullptr;
}

std::string limit_words(const limits& lim) {
  std::string out;
  const limits open;
  if (lim.min != open.min && lim.max != open.max)
    out = std::to_string(lim.min) + " to " + std::to_string(lim.max);
  else if (lim.min != open.min)
    out = "at least " + std::to_string(lim.min);
  if (lim.items_max != open.items_max)
    out += std::to_string(lim.items_min) + " to " + std::to_string(lim.items_max) + " entries";
  return out;
}

struct row_writer {
  std::string& out;
  std::string prefix;
  void row(const std::string& name, const std::string& type, const std::string& text) const {
    out.append("| `").append(prefix).append(name).append("` | ").append(type).append(" | ").append(text).append(" |\n");
  }
};

void write_rows(const shape& type, std::string& out, const std::string& prefix);

std::string notes_of(const member& m, bool optional) {
  std::string text(m.text);
  if (const std::string range = limit_words(m.limits); !range.empty()) text += " " + range + ".";
  if (m.required || optional || m.type->kind == kind::nullable) return text;
  std::string value;
  encode_value(m.target, *m.type, value);
  if (value != "false" && value != "{}" && value != "[]") text += " Default " + value + ".";
  return text;
}

void write_member(const member& m, std::string& out, const std::string& prefix) {
  const row_writer to{out, prefix};
  const std::string mark = m.required ? "" : "?";
  const std::string name(m.name);
  if (m.how == member_kind::payload) {
    to.row("data" + mark, "string", std::string(m.text));
    to.row("encoding?", type_words(shape_of<encoding>::value), "Of `data`.");
    return;
  }
  if (m.how != member_kind::plain) {
    to.row(name + mark, "string",
           std::string(m.text) + (m.how == member_kind::path_in ? " Or `" : " And `") + name +
               "_base64` where it is not UTF-8.");
    return;
  }
  const bool optional = !m.required && m.type->kind == kind::optional;
  const shape& type = optional ? *m.type->inner : *m.type;
  to.row(name + mark, type_words(type), notes_of(m, optional));
  if (const shape* inner = record_within(type)) {
    const std::string step = type.kind == kind::list ? "[]." : type.kind == kind::map ? ".*." : ".";
    write_rows(*inner, out, prefix + name + step);
  }
}

void write_rows(const shape& type, std::string& out, const std::string& prefix) {
  struct context {
    std::string& out;
    const std::string& prefix;
  } at{out, prefix};
  visit_record(type, &at, [](void* p, const visitor& v) {
    const auto& to = *static_cast<context*>(p);
    for (const member& m : v.members) write_member(m, to.out, to.prefix);
  });
}

void write_table(std::string_view title, const shape& type, std::string& out) {
  if (type.kind != kind::record) {
    out.append(title).append(": ").append(type_words(type)).append(".\n\n");
    return;
  }
  std::string rows;
  write_rows(type, rows, "");
  if (rows.empty()) {
    out.append(title).append(": none.\n\n");
    return;
  }
  out.append("| ").append(title).append(" | type | |\n|---|---|---|\n").append(rows).append("\n");
}

void write_method(const method_entry& method, std::string& out) {
  out.append("### ").append(method.name).append("\n").append(method.summary).append("\n\n");
  if (method.ordered) out += "Takes effect before a later request of the connection starts.\n\n";
  write_table("parameter", *method.params, out);
  write_table("result", *method.result, out);
  out += "Errors:";
  for (const error_kind kind : errors_of(method.name)) out.append(" `").append(word(kind)).append("`");
  out += ".\n\n";
}

void write_errors(std::string& out) {
  out += "## Errors\n`error.data.kind` tells them apart.\n\n| code | kind | meaning |\n|---|---|---|\n";
  for (int n = 0; n < static_cast<int>(std::size(words<error_kind>::list)); ++n) {
    const auto kind = static_cast<error_kind>(n);
    out.append("| ").append(std::to_string(code_of(kind))).append(" | ").append(word(kind)).append(" | ");
    out.append(meaning_of(kind)).append(" |\n");
  }
  out += "\n";
}

}  // namespace

std::string render_api_markdown() {
  std::string out =
      "# Methods of sbxd\n"
      "Made from the descriptions in `proto/methods` by `sbx-api-doc`; do not edit. A `?` marks what may be absent.\n\n"
      "The protocol is JSON-RPC 2.0 on a Unix stream socket, one message a line or with LSP headers; `rpc.discover` "
      "answers the "
      "same as an OpenRPC document.\nOf duplicate names in an object the last one counts; numbers that no double can "
      "hold are a "
      "parse error.\n\n";
  std::string_view family;
  for (const method_entry& method : method_catalog()) {
    const std::string_view here = method.name.substr(0, method.name.find('.'));
    if (here != family) out.append("## ").append(here).append("\n\n");
    family = here;
    write_method(method, out);
  }
  out += "## Notifications\n\n";
  for (const notification_entry& note : notification_catalog()) {
    out.append("### ").append(note.name).append("\n").append(note.summary).append("\n\n");
    write_table("member", *note.params, out);
  }
  out += "## Requests to the client\n\n";
  write_method(authorize_entry(), out);
  write_errors(out);
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

}  // namespace sbx::proto
