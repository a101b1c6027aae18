// sbxd: see docs/sbxd.8.
#include <exception>

#include "daemon/app/app.hpp"
#include "daemon/app/log.hpp"
#include "daemon/app/options.hpp"

int main(int argc, char** argv) {
  try {
    int exit_code = 0;
    const auto wanted = sbx::app::parse_options(argc, argv, exit_code);
    if (!wanted) return exit_code;
    sbx::app::set_log_level(wanted->log_level);
    return sbx::app::run(*wanted);
  } catch (...) {
    sbx::app::log_failure("sbxd", std::current_exception());
    return 1;
  }
}
