#include "daemon/app/options.hpp"

#include <CLI/CLI.hpp>
#include <filesystem>

namespace sbx::app {

namespace {

// The daemon changes to / once it has started.
std::string absolute(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).lexically_normal().string();
}

}  // namespace

std::optional<options> parse_options(int argc, char** argv, int& exit_code) {
  options wanted;
  int orphan_ttl = 0;
  CLI::App app("sbxd: sandboxes, commands and files for agents, over a Unix socket", "sbxd");
  app.add_option("--socket", wanted.socket_path, "Where to listen [$XDG_RUNTIME_DIR/sbxd/sbxd.sock]");
  app.add_option("--config", wanted.config_path, "The configuration [$XDG_CONFIG_HOME/sbxd/config.json]");
  app.add_flag("--check-config", wanted.check_config, "Say whether the configuration is right, and end");
  app.add_flag("--print-config", wanted.print_config, "Print the configuration with its defaults, and end");
  app.add_option("--log-level", wanted.log_level, "How much to log")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}))
      ->capture_default_str();
  app.add_option("--orphan-ttl", orphan_ttl, "Seconds for which sandboxes outlive a lost daemon; only 0 so far")
      ->check(CLI::IsMember({0}));
  app.set_version_flag("--version", "sbxd " SBX_VERSION);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    exit_code = app.exit(e) == 0 ? 0 : 2;
    return std::nullopt;
  }
  wanted.socket_path = absolute(wanted.socket_path);
  wanted.config_path = absolute(wanted.config_path);
  return wanted;
}

}  // namespace sbx::app
