// What a call came to: the JSON text of its result, or of its error object.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json_fwd.hpp>

#include "daemon/sys/error.hpp"

namespace sbx::rpc {

class outcome {
 public:
  outcome() : text_("{}") {}

  static outcome success(const nlohmann::json& result);
  static outcome success_text(std::string json) { return outcome(false, std::move(json)); }
  static outcome failure_text(std::string error_object) { return outcome(true, std::move(error_object)); }
  // The wire's form of a domain error: code, message, data {kind, errno, details…}.
  static outcome failure(const error& what);

  bool failed() const { return failed_; }
  const std::string& text() const { return text_; }
  std::string take_text() && { return std::move(text_); }

 private:
  outcome(bool failed, std::string text) : failed_(failed), text_(std::move(text)) {}
  bool failed_ = false;
  std::string text_;  // valid JSON, valid UTF-8
};

}  // namespace sbx::rpc
