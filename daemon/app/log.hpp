// The log: lines on stderr, for the journal. No command lines, environment values or file contents above debug.
#pragma once

#include <exception>
#include <string_view>

namespace sbx::app {

enum class level { trace, debug, info, warn, error };

// `name` as on the command line.
void set_log_level(std::string_view name);
void log(level at, std::string_view text);
void log_failure(std::string_view what, std::exception_ptr failure);

}  // namespace sbx::app
