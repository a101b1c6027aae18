#include "daemon/app/config_file.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "daemon/rpc/socket_file.hpp"

namespace sbx::app {

namespace {

constexpr std::size_t config_bytes_max = 4u << 20;

// $VARIABLE, else ~/FALLBACK; empty without either. The specification has relative values ignored.
std::string base_directory(const char* variable, const char* fallback) {
  const char* set = std::getenv(variable);
  if (set != nullptr && *set == '/') return set;
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/" + fallback : std::string();
}

std::string canonical(const std::string& path) {
  std::error_code failed;
  const auto found = std::filesystem::weakly_canonical(path, failed);
  return failed ? path : found.string();
}

result<std::string> read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail_system(errno, "reading", path);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in || text.str().size() > config_bytes_max)
    return fail(error_kind::io, "The configuration " + path + " cannot be read.");
  return text.str();
}

error bad_config(const std::string& path, const proto::fault& fault) {
  const std::string where = fault.path.empty() ? path : path + " at " + fault.path;
  return error(error_kind::invalid_params, where + ": " + fault.message);
}

}  // namespace

std::string config_path(const options& wanted) {
  if (!wanted.config_path.empty()) return wanted.config_path;
  const std::string base = base_directory("XDG_CONFIG_HOME", ".config");
  return base.empty() ? base : base + "/sbxd/config.json";
}

result<loaded_config> load_config(const options& wanted) {
  const std::string path = config_path(wanted);
  loaded_config out;
  std::error_code ignored;
  if (!path.empty() && (!wanted.config_path.empty() || std::filesystem::exists(path, ignored))) {
    auto text = read_text(path);
    if (!text) return fail(text.error());
    auto parsed = api::parse_config(*text);
    if (!parsed) return fail(bad_config(path, parsed.error()));
    out.file = std::move(*parsed);
  }
  auto settings = api::make_settings(out.file);
  if (!settings) return fail(bad_config(path, settings.error()));
  out.settings = std::move(*settings);
  return out;
}

workspace::daemon_paths own_paths(const options& wanted, const std::string& socket_path) {
  workspace::daemon_paths out;
  const auto own = [&out](const std::string& path) {
    if (!path.empty()) out.own.push_back(canonical(path));
  };
  own(config_path(wanted));
  if (wanted.config_path.empty()) own(config_path(wanted).substr(0, config_path(wanted).rfind('/')));
  const std::string state = base_directory("XDG_STATE_HOME", ".local/state");
  if (!state.empty()) {
    out.state = canonical(state + "/sbxd");
    out.copies = out.state + "/copies";
    own(out.state);
  }
  std::error_code failed;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (!failed) {
    own(program.string());
    for (const char* other : {"sbx-init", "sbxctl", "../libexec/sbx/sbx-init"})
      own((program.parent_path() / other).string());
  }
  if (!socket_path.empty()) {
    own(socket_path);
    own(socket_path + ".lock");
  }
  if (const auto usual = rpc::default_socket_path(std::getenv("XDG_RUNTIME_DIR"), ::geteuid()))
    own(usual->substr(0, usual->rfind('/')));
  return out;
}

}  // namespace sbx::app
