#include "daemon/app/log.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <memory>
#include <string>

namespace sbx::app {

namespace {

spdlog::logger& logger() {
  static const auto made = [] {
    auto logger = std::make_shared<spdlog::logger>("sbxd", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    // The journal notes time and program by itself.
    logger->set_pattern(std::getenv("JOURNAL_STREAM") != nullptr ? "%l: %v" : "%Y-%m-%dT%H:%M:%S.%e sbxd[%P] %l: %v");
    return logger;
  }();
  return *made;
}

spdlog::level::level_enum to_spdlog(level at) {
  switch (at) {
    case level::trace:
      return spdlog::level::trace;
    case level::debug:
      return spdlog::level::debug;
    case level::info:
      return spdlog::level::info;
    case level::warn:
      return spdlog::level::warn;
    case level::error:
      return spdlog::level::err;
  }
  return spdlog::level::info;
}

}  // namespace

void set_log_level(std::string_view name) {
  logger().set_level(spdlog::level::from_str(std::string(name)));
}

void log(level at, std::string_view text) {
  logger().log(to_spdlog(at), "{}", text);
}

void log_failure(std::string_view what, std::exception_ptr failure) {
  std::string why = "an unknown exception";
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& e) {
    why = e.what();
  } catch (...) {
  }
  logger().error("{} failed: {}", what, why);
}

}  // namespace sbx::app
