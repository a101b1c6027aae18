#include "proto/json_text.hpp"

#include <cstring>
#include <nlohmann/json.hpp>

namespace sbx::proto {
namespace {

// Index just behind the string whose opening quote is at `open`.
std::size_t skip_string(std::string_view text, std::size_t open) {
  std::size_t n = open + 1;
  while (n < text.size()) {
    const void* quote = std::memchr(text.data() + n, '"', text.size() - n);
    if (!quote) return text.size();
    n = static_cast<std::size_t>(static_cast<const char*>(quote) - text.data());
    std::size_t slashes = 0;
    while (n - slashes > open + 1 && text[n - 1 - slashes] == '\\') ++slashes;
    ++n;
    if (slashes % 2 == 0) return n;
  }
  return n;
}

// Walks the events of a text (nlohmann's SAX parser does not recurse) and keeps the id of the outermost object.
class outliner final : public nlohmann::json_sax<json> {
 public:
  explicit outliner(text_outline& out) : out_(out) {}
  bool null() override { return take(request_id()); }
  bool boolean(bool) override { return take(std::nullopt); }
  bool number_integer(number_integer_t n) override { return take(request_id(std::int64_t{n})); }
  bool number_unsigned(number_unsigned_t n) override {
    return take(n <= INT64_MAX ? request_id(static_cast<std::int64_t>(n)) : request_id(std::uint64_t{n}));
  }
  bool number_float(number_float_t, const string_t&) override { return take(std::nullopt); }
  bool string(string_t& text) override { return take(request_id(std::move(text))); }
  bool binary(binary_t&) override { return take(std::nullopt); }
  bool start_object(std::size_t) override { return enter(); }
  bool key(string_t& name) override {
    at_id_ = depth_ == 1 && name == "id";
    return true;
  }
  bool end_object() override { return leave(); }
  bool start_array(std::size_t) override {
    if (depth_ == 0) top_is_array_ = true;
    return enter();
  }
  bool end_array() override { return leave(); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    out_.error_byte = position;
    return false;
  }

 private:
  bool take(std::optional<request_id> id) {
    if (at_id_ && !top_is_array_) out_.id = std::move(id);
    at_id_ = false;
    return true;
  }
  bool enter() {
    ++depth_;
    at_id_ = false;
    return true;
  }
  bool leave() {
    --depth_;
    return true;
  }

  text_outline& out_;
  int depth_ = 0;
  bool at_id_ = false, top_is_array_ = false;
};

text_outline outline(std::string_view text, bool ignore_comments) {
  text_outline out;
  outliner events(out);
  out.well_formed = json::sax_parse(text, &events, json::input_format_t::json, true, ignore_comments);
  return out;
}

}  // namespace

bool nests_deeper(std::string_view text, int depth_max) {
  int depth = 0;
  for (std::size_t n = 0; n < text.size();) {
    switch (text[n]) {
      case '"':
        n = skip_string(text, n);
        continue;
      case '[':
      case '{':
        if (++depth > depth_max) return true;
        break;
      case ']':
      case '}':
        --depth;
        break;
      default:
        break;
    }
    ++n;
  }
  return false;
}

text_verdict parse_json(std::string_view text, int depth_max, json& into) {
  if (nests_deeper(text, depth_max)) return text_verdict::too_deep;
  json made = json::parse(text, nullptr, false);
  if (made.is_discarded()) return text_verdict::malformed;
  into = std::move(made);
  return text_verdict::ok;
}

text_outline outline_json(std::string_view text) {
  return outline(text, false);
}
text_outline outline_config(std::string_view text) {
  return outline(text, true);
}

}  // namespace sbx::proto
