// JSON-RPC 2.0 envelopes, sans I/O: a frame's text becomes messages, replies become text.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "proto/error.hpp"
#include "proto/types.hpp"

namespace sbx::proto {

struct parse_limits {
  parse_limits() = default;
  int depth_max = 64;          // levels of arrays and objects, counted before a DOM is built
  std::size_t batch_max = 64;  // entries
};

// The params of a call or the result of a response; shared so that headers need no more of JSON than its name. Null
// pointer: absent.
using document = std::shared_ptr<json>;

// A request, or a notification when it has no id.
struct call {
  call() = default;
  std::optional<request_id> id;
  std::string method;
  document params;  // an object, or null when absent; of a notification it may be anything (which then fails to decode)
};

// An answer to a request of our own.
struct response {
  response() = default;
  request_id id;
  document result;                  // set when it succeeded
  std::optional<wire_error> error;  // else
};

// Something that is not a valid call, with what is to be answered to it.
struct bad_message {
  bad_message() = default;
  bad_message(request_id id_, wire_error error_) : id(std::move(id_)), error(std::move(error_)) {}
  request_id id;  // null where it could not be told
  wire_error error;
};

using message = std::variant<call, response, bad_message>;

struct parsed_frame {
  parsed_frame() = default;
  bool batch = false;  // answers go out as one array (none at all when there is nothing to answer)
  std::vector<message>
      messages;  // one, unless a batch; `[]` and too many entries are one bad_message and batch = false
};

// Never throws on any input. Of duplicate names in an object the last one counts.
parsed_frame parse_frame(std::string_view text, const parse_limits& limits = {});

// The params of a call as T; absent params are {}. wire_error: invalid_params {path}.
std::optional<wire_error> decode_params_value(const document& params, void* target, const shape& type);
template <class T>
tl::expected<T, wire_error> decode_params(const document& params) {
  T made;
  if (auto wrong = decode_params_value(params, &made, shape_of<T>::value))
    return tl::unexpected<wire_error>(std::move(*wrong));
  return made;
}

// Texts of whole messages. `result_json`, `params_json` are JSON texts (encode_text).
std::string make_result(const request_id& id, std::string_view result_json);
std::string make_error(const request_id& id, const wire_error& error);
std::string make_request(const request_id& id, std::string_view method, std::string_view params_json);
std::string make_notification(std::string_view method, std::string_view params_json);
std::string make_batch(const std::vector<std::string>& messages);

}  // namespace sbx::proto
