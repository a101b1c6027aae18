// What a call came to: the JSON text of its result, or an error.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "daemon/sys/error.hpp"
#include "proto/codec.hpp"
#include "proto/error.hpp"

namespace sbx::rpc {

using outcome = tl::expected<std::string, proto::wire_error>;

// The wire's form of a domain error: same kind, its errno by name, its details.
proto::wire_error to_wire(const error& what);

template <class T>
outcome success(const T& result) {
  return outcome(proto::encode_text(result));
}
inline outcome failure(const error& what) {
  return tl::unexpected<proto::wire_error>(to_wire(what));
}
inline outcome failure(proto::wire_error what) {
  return tl::unexpected<proto::wire_error>(std::move(what));
}

}  // namespace sbx::rpc
