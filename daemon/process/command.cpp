#include "daemon/process/command.hpp"

namespace sbx::process {

namespace {

constexpr const char* usual_path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

}  // namespace

std::string own_path(const sandbox::sandbox& box) {
  for (const auto& entry : box.base_env())
    if (entry.starts_with("PATH=") && entry.size() > 5) return entry.substr(5);
  return usual_path;
}

std::vector<std::string> make_environment(const sandbox::sandbox& box, std::optional<std::string> terminal,
                                          const std::vector<const env_changes*>& layers) {
  std::map<std::string, std::string> env;
  for (const auto& entry : box.base_env()) {
    const auto equals = entry.find('=');
    if (equals != std::string::npos && equals > 0)
      env.insert_or_assign(entry.substr(0, equals), entry.substr(equals + 1));
  }
  env.emplace("PATH", usual_path);
  env.emplace("HOME", box.home());
  env.emplace("USER", box.user_name());
  env.emplace("LANG", "C.UTF-8");
  env.emplace("TMPDIR", "/tmp");
  if (terminal) {
    env.insert_or_assign("TERM", *terminal);
  } else {
    env.emplace("TERM", "dumb");
    for (const char* pager : {"PAGER", "GIT_PAGER", "MANPAGER", "SYSTEMD_PAGER"}) env.emplace(pager, "cat");
  }
  for (const env_changes* layer : layers) {
    for (const auto& [name, value] : *layer) {
      if (value) {
        env.insert_or_assign(name, *value);
      } else {
        env.erase(name);
      }
    }
  }
  std::vector<std::string> out;
  out.reserve(env.size());
  for (const auto& [name, value] : env) out.push_back(name + "=" + value);
  return out;
}

}  // namespace sbx::process
