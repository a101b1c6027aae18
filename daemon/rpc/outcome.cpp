#include "daemon/rpc/outcome.hpp"

#include <cstring>
#include <variant>

namespace sbx::rpc {

namespace {

proto::error_kind wire_kind(error_kind kind) {
  switch (kind) {
    case error_kind::io:
      return proto::error_kind::io;
    case error_kind::invalid_params:
      return proto::error_kind::invalid_params;
    case error_kind::denied:
      return proto::error_kind::denied;
    case error_kind::not_found:
      return proto::error_kind::not_found;
    case error_kind::no_such_handle:
      return proto::error_kind::no_such_handle;
    case error_kind::limit:
      return proto::error_kind::limit;
    case error_kind::edit_mismatch:
      return proto::error_kind::edit_mismatch;
    case error_kind::sandbox_unavailable:
      return proto::error_kind::sandbox_unavailable;
    case error_kind::sandbox_lost:
      return proto::error_kind::sandbox_lost;
    case error_kind::spawn_failed:
      return proto::error_kind::spawn_failed;
    case error_kind::conflict:
      return proto::error_kind::conflict;
    case error_kind::not_a_file:
      return proto::error_kind::not_a_file;
    case error_kind::too_large:
      return proto::error_kind::too_large;
    case error_kind::shutting_down:
      return proto::error_kind::shutting_down;
    case error_kind::unsupported:
      return proto::error_kind::unsupported;
    case error_kind::root_gone:
      return proto::error_kind::root_gone;
    case error_kind::cancelled:
      return proto::error_kind::cancelled;
    case error_kind::internal:
      return proto::error_kind::internal;
  }
  return proto::error_kind::internal;
}

bool has_detail(const error& what, std::string_view name) {
  for (const auto& [key, value] : what.details)
    if (key == name) return true;
  return false;
}

}  // namespace

proto::wire_error to_wire(const error& what) {
  proto::wire_error wire(wire_kind(what.kind), what.message);
  for (const auto& [name, value] : what.details)
    std::visit([&, &key = name](const auto& held) { wire.with(key, held); }, value);
  if (what.number != 0 && !has_detail(what, "errno"))
    if (const char* name = ::strerrorname_np(what.number)) wire.with("errno", name);
  const bool again = what.kind == error_kind::sandbox_lost || what.kind == error_kind::shutting_down;
  if (again && !has_detail(what, "retryable")) wire.with("retryable", true);
  return wire;
}

}  // namespace sbx::rpc
