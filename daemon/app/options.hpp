// The command line.
#pragma once

#include <optional>
#include <string>

namespace sbx::app {

struct options {
  options() = default;
  std::string socket_path;  // absolute, or empty: the default place
  std::string config_path;  // absolute, or empty: the default place
  std::string log_level = "info";
  bool check_config = false, print_config = false;
};

// Nothing: the program ends with *exit_code (help, version, a wrong option; told on the right stream already).
std::optional<options> parse_options(int argc, char** argv, int& exit_code);

}  // namespace sbx::app
