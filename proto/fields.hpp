// Described structs: each wire struct lists its members once, in `void describe(visitor& v)`. Decoding with faults,
// unknown field refusal, encoding, JSON Schema, OpenRPC and docs/api.md all follow from that list (codec.hpp,
// schema.hpp).
//
// Type-erased on purpose: a member is a pointer and a `shape`, one of a closed set of kinds, so no translation unit
// that describes or decodes instantiates more than a few pointers.
//
//   struct greeting {
//     greeting() = default;                       // a constructor, so that it is no aggregate (g++ 12 and co_await)
//     std::string name;
//     std::optional<std::int64_t> times;
//     std::int64_t pause_ms = 100;
//     void describe(visitor& v) {
//       v.req("name", name, "Who is greeted.");
//       v.opt("times", times, "How often.", between(1, 10));          // absent: nullopt; left out when encoded
//       v.opt("pause_ms", pause_ms, "Between two.", at_least(0));     // absent: the default; always encoded
//     }
//   };
//
// A required std::optional, and one inside a list or map, is a value that may be null. An optional member that tells
// absent from null is a nullable<T>. Structs compose by inheriting and calling the base's describe first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace sbx::proto {

using json = nlohmann::json;

// Why a document does not fit its description: a JSON pointer to the culprit and one plain sentence.
struct fault {
  fault() = default;
  fault(std::string path_, std::string message_) : path(std::move(path_)), message(std::move(message_)) {}
  std::string path, message;
};

enum class encoding { utf8, base64 };

// Bytes given as `data` + `encoding`. Decoding leaves the exact bytes here; encoding picks "utf-8" when they are valid
// and "base64" otherwise, unless `forced` says which (forced utf-8 replaces invalid sequences and adds "lossy": true).
struct payload {
  payload() = default;
  explicit payload(std::string bytes_, std::optional<encoding> forced_ = std::nullopt)
      : bytes(std::move(bytes_)), forced(forced_) {}
  std::string bytes;
  std::optional<encoding> forced;
  bool lossy = false;  // only read back by a client
};

// A string, or {"base64": …} for bytes that are not UTF-8; without NUL (argv elements, env values, paths in lists).
struct c_bytes {
  c_bytes() = default;
  c_bytes(std::string value_) : value(std::move(value_)) {}
  c_bytes(const char* value_) : value(value_) {}
  operator const std::string&() const { return value; }
  bool operator==(const c_bytes&) const = default;
  std::string value;
};

// The same with NUL allowed (the texts of an edit).
struct any_bytes {
  any_bytes() = default;
  any_bytes(std::string value_) : value(std::move(value_)) {}
  operator const std::string&() const { return value; }
  bool operator==(const any_bytes&) const = default;
  std::string value;
};

// {"fd": K}: the K-th descriptor that rode with the frame.
struct fd_index {
  fd_index() = default;
  explicit fd_index(std::int64_t index_) : index(index_) {}
  std::int64_t index = 0;
};

// Any JSON, kept as its text.
struct raw_json {
  raw_json() = default;
  explicit raw_json(std::string text_) : text(std::move(text_)) {}
  std::string text = "null";
};

// Absent, null or a value.
template <class T>
struct nullable {
  nullable() = default;
  nullable(T value_) : present(true), value(std::move(value_)) {}
  static nullable null() {
    nullable made;
    made.present = true;
    return made;
  }
  bool absent() const { return !present; }
  bool is_null() const { return present && !value; }
  bool present = false;
  std::optional<T> value;
};

// Enums are closed sets of words: specialise with `static constexpr std::string_view list[]`, in the order of the
// enumerators, which count from 0.
template <class Enum>
struct words;

template <>
struct words<encoding> {
  static constexpr std::string_view list[] = {"utf-8", "base64"};
};

template <class Enum>
std::string_view word(Enum value) {
  return words<Enum>::list[static_cast<std::size_t>(value)];
}

class visitor;

enum class kind : std::uint8_t {
  boolean,
  int64,
  uint64,
  real,
  text,
  c_bytes,
  any_bytes,
  raw,
  fd_index,
  word,
  optional,
  nullable,
  list,
  map,
  record,
  custom
};

// What codec and schema know of a type. Which members are set depends on the kind.
struct shape {
  proto::kind kind;
  const shape* inner = nullptr;             // optional, nullable, list, map
  const std::string_view* words = nullptr;  // word
  std::size_t word_count = 0;
  int (*word_get)(const void*) = nullptr;
  void (*word_set)(void*, int) = nullptr;
  void* (*add)(void*) = nullptr;                          // optional, nullable, list: makes room for a value
  void* (*insert)(void*, std::string) = nullptr;          // map
  std::size_t (*size)(const void*) = nullptr;             // optional (0 or 1), list
  const void* (*at)(const void*, std::size_t) = nullptr;  // optional, list
  bool* (*present)(void*) = nullptr;                      // nullable
  void (*each)(const void*, void*, void (*)(void*, const std::string&, const void*)) = nullptr;  // map
  void (*describe)(void*, visitor&) = nullptr;                                                   // record
  void (*with_default)(void*, void (*)(void*, void*)) = nullptr;  // record: calls back with a default-made one
  std::optional<fault> (*decode)(const json&, void*) = nullptr;   // custom
  void (*encode)(const void*, std::string&) = nullptr;
  void (*schema)(json&) = nullptr;
};

template <class T>
struct shape_of;

// Limits of a member's value beyond its kind.
struct limits {
  std::int64_t min = std::numeric_limits<std::int64_t>::min();
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
  std::size_t items_min = 0;  // of a list or map
  std::size_t items_max = std::numeric_limits<std::size_t>::max();
  bool (*accepts)(std::string_view) = nullptr;  // of a string, a list's strings, or a map's names
  std::string_view expected = {};               // "must be …"
};
constexpr limits between(std::int64_t min, std::int64_t max) {
  return {.min = min, .max = max};
}
constexpr limits at_least(std::int64_t min) {
  return {.min = min};
}
constexpr limits items(std::size_t min, std::size_t max) {
  return {.items_min = min, .items_max = max};
}
constexpr limits matching(bool (*accepts)(std::string_view), std::string_view expected) {
  return {.accepts = accepts, .expected = expected};
}

// How a member is written.
enum class member_kind : std::uint8_t {
  plain,
  payload,   // data + encoding (+ lossy)
  path_in,   // NAME, or NAME_base64 instead
  path_out,  // NAME (lossy), and NAME_base64 (exact) when it is not UTF-8
};

struct member {
  std::string_view name, text;
  void* target = nullptr;
  const shape* type = nullptr;  // plain; of a path: text or optional text
  bool required = false;
  member_kind how = member_kind::plain;
  proto::limits limits;
};

// Between the named members: how many of them must be given.
struct choice {
  std::vector<std::string_view> names;
  bool required = false;  // exactly one, or at most one
};

// Collects what a struct says of itself.
class visitor {
 public:
  visitor() { members.reserve(16); }

  template <class T>
  void req(std::string_view name, T& value, std::string_view text, limits lim = {}) {
    add(name, text, &value, &shape_of<T>::value, true, member_kind::plain, lim);
  }
  template <class T>
  void opt(std::string_view name, T& value, std::string_view text, limits lim = {}) {
    add(name, text, &value, &shape_of<T>::value, false, member_kind::plain, lim);
  }
  // `data` and `encoding`.
  void data(payload& value, std::string_view text) {
    add("data", text, &value, nullptr, true, member_kind::payload, {});
  }
  void data(std::optional<payload>& value, std::string_view text) {
    add("data", text, &value, nullptr, false, member_kind::payload, {});
  }
  // A path given by a client (NAME or NAME_base64), no NUL in it.
  void path(std::string_view name, std::string& value, std::string_view text) {
    add(name, text, &value, &shape_text(), true, member_kind::path_in, {});
  }
  void path(std::string_view name, std::optional<std::string>& value, std::string_view text) {
    add(name, text, &value, &shape_optional_text(), false, member_kind::path_in, {});
  }
  // A file name or path told to a client.
  void file_name(std::string_view name, std::string& value, std::string_view text) {
    add(name, text, &value, &shape_text(), true, member_kind::path_out, {});
  }
  void file_name(std::string_view name, std::optional<std::string>& value, std::string_view text) {
    add(name, text, &value, &shape_optional_text(), false, member_kind::path_out, {});
  }

  void exactly_one(std::initializer_list<std::string_view> names) { choices.push_back({names, true}); }
  void at_most_one(std::initializer_list<std::string_view> names) { choices.push_back({names, false}); }

  std::vector<member> members;
  std::vector<choice> choices;

 private:
  void add(std::string_view name, std::string_view text, void* target, const shape* type, bool required,
           member_kind how, limits lim) {
    members.push_back({name, text, target, type, required, how, lim});
  }
  static const shape& shape_text();
  static const shape& shape_optional_text();
};

// --- The closed set ---

template <class T>
concept described = requires(T& value, visitor& v) {
  value.describe(v);
};
template <class T>
concept worded = requires {
  words<T>::list[0];
};
// A type with its own form: static functions decode_json(const json&, T&), encode_json(const T&, text),
// schema_json(json&).
template <class T>
concept customized = requires(const json& in, T& value, std::string& out, json& schema) {
  T::decode_json(in, value);
  T::encode_json(value, out);
  T::schema_json(schema);
};

#define SBX_PROTO_LEAF(TYPE, KIND)                    \
  template <>                                         \
  struct shape_of<TYPE> {                             \
    static constexpr shape value{.kind = kind::KIND}; \
  };
SBX_PROTO_LEAF(bool, boolean)
SBX_PROTO_LEAF(std::int64_t, int64)
SBX_PROTO_LEAF(std::uint64_t, uint64)
SBX_PROTO_LEAF(double, real)
SBX_PROTO_LEAF(std::string, text)
SBX_PROTO_LEAF(c_bytes, c_bytes)
SBX_PROTO_LEAF(any_bytes, any_bytes)
SBX_PROTO_LEAF(raw_json, raw)
SBX_PROTO_LEAF(fd_index, fd_index)
#undef SBX_PROTO_LEAF

template <worded T>
struct shape_of<T> {
  static constexpr shape value{.kind = kind::word,
                               .words = words<T>::list,
                               .word_count = sizeof(words<T>::list) / sizeof(std::string_view),
                               .word_get = [](const void* p) { return static_cast<int>(*static_cast<const T*>(p)); },
                               .word_set = [](void* p, int n) { *static_cast<T*>(p) = static_cast<T>(n); }};
};

template <described T>
struct shape_of<T> {
  static constexpr shape value{.kind = kind::record,
                               .describe = [](void* p, visitor& v) { static_cast<T*>(p)->describe(v); },
                               .with_default =
                                   [](void* context, void (*use)(void*, void*)) {
                                     T made;
                                     use(context, &made);
                                   }};
};

template <customized T>
struct shape_of<T> {
  static constexpr shape value{
      .kind = kind::custom,
      .decode = [](const json& in, void* p) { return T::decode_json(in, *static_cast<T*>(p)); },
      .encode = [](const void* p, std::string& out) { T::encode_json(*static_cast<const T*>(p), out); },
      .schema = [](json& out) { T::schema_json(out); }};
};

template <class T>
struct shape_of<std::optional<T>> {
  using self = std::optional<T>;
  static constexpr shape value{
      .kind = kind::optional,
      .inner = &shape_of<T>::value,
      .add = [](void* p) -> void* { return &static_cast<self*>(p)->emplace(); },
      .size = [](const void* p) { return std::size_t{static_cast<const self*>(p)->has_value()}; },
      .at = [](const void* p, std::size_t) -> const void* { return &**static_cast<const self*>(p); }};
};

template <class T>
struct shape_of<nullable<T>> {
  using self = nullable<T>;
  static constexpr shape value{
      .kind = kind::nullable,
      .inner = &shape_of<T>::value,
      .add = [](void* p) -> void* { return &static_cast<self*>(p)->value.emplace(); },
      .size = [](const void* p) { return std::size_t{static_cast<const self*>(p)->value.has_value()}; },
      .at = [](const void* p, std::size_t) -> const void* { return &*static_cast<const self*>(p)->value; },
      .present = [](void* p) { return &static_cast<self*>(p)->present; }};
};

template <class T>
struct shape_of<std::vector<T>> {
  using self = std::vector<T>;
  static constexpr shape value{
      .kind = kind::list,
      .inner = &shape_of<T>::value,
      .add = [](void* p) -> void* { return &static_cast<self*>(p)->emplace_back(); },
      .size = [](const void* p) { return static_cast<const self*>(p)->size(); },
      .at = [](const void* p, std::size_t n) -> const void* { return &(*static_cast<const self*>(p))[n]; }};
};

template <class T>
struct shape_of<std::map<std::string, T>> {
  using self = std::map<std::string, T>;
  static constexpr shape value{
      .kind = kind::map,
      .inner = &shape_of<T>::value,
      .insert = [](void* p, std::string name) -> void* { return &(*static_cast<self*>(p))[std::move(name)]; },
      .size = [](const void* p) { return static_cast<const self*>(p)->size(); },
      .each =
          [](const void* p, void* context, void (*use)(void*, const std::string&, const void*)) {
            for (const auto& [name, value] : *static_cast<const self*>(p)) use(context, name, &value);
          }};
};

inline const shape& visitor::shape_text() {
  return shape_of<std::string>::value;
}
inline const shape& visitor::shape_optional_text() {
  return shape_of<std::optional<std::string>>::value;
}

// The parameters of a method that takes none, and the result of one whose result is not named.
struct nothing {
  nothing() = default;
  void describe(visitor&) {}
};

// Strings that go where C strings go.
bool no_nul(std::string_view text);
bool is_env_name(std::string_view text);    // not empty, no '=', no NUL
bool is_octal_mode(std::string_view text);  // "0644": up to 07777
bool is_sha256(std::string_view text);      // 64 hex digits
bool is_user(std::string_view text);        // "uid:gid"

constexpr limits c_text = matching(no_nul, "must not contain NUL");
constexpr limits env_names = matching(is_env_name, "must be an environment name: not empty, without '=' and NUL");

}  // namespace sbx::proto
