#include "client/failure.hpp"

#include <cstring>

namespace sbx::client {
namespace {

int exit_code_of(const proto::wire_error& error) {
  switch (error.kind) {
    case proto::error_kind::sandbox_unavailable:
    case proto::error_kind::sandbox_lost:
    case proto::error_kind::shutting_down:
      return exit_unavailable;
    case proto::error_kind::spawn_failed: {
      const auto reason = error.text_member("reason");
      if (reason == "not_found") return exit_not_found;
      if (reason == "not_executable" || reason == "bad_interpreter" || reason == "bad_format")
        return exit_not_executable;
      return exit_unavailable;
    }
    default:
      return exit_error;
  }
}

}  // namespace

failure::failure(proto::wire_error error)
    : exit_code(exit_code_of(error)),
      message(error.message),
      remedy(error.text_member("remedy").value_or("")),
      wire(std::move(error)) {
  const auto cause = wire->text_member("cause");
  if (cause && !cause->empty() && message.find(*cause) == std::string::npos) message += " (" + *cause + ")";
}

failure system_failure(int number, std::string doing) {
  return failure(exit_unavailable, std::move(doing) + ": " + std::strerror(number) + ".");
}

}  // namespace sbx::client
