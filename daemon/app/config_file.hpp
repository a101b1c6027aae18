// The configuration file and the places that are the daemon's own.
#pragma once

#include <string>

#include "daemon/api/config.hpp"
#include "daemon/app/options.hpp"
#include "daemon/workspace/root_rules.hpp"

namespace sbx::app {

// As asked for, else $XDG_CONFIG_HOME/sbxd/config.json, else ~/.config/sbxd/config.json; empty where there is no home.
std::string config_path(const options& wanted);

struct loaded_config {
  loaded_config() = default;
  api::config file;
  workspace::settings settings;
};

// The defaults when no file was named and there is none. Errors say file, place and reason in one line.
result<loaded_config> load_config(const options& wanted);

// What no workspace may use: configuration, state, programs, socket, lock and runtime directory.
workspace::daemon_paths own_paths(const options& wanted, const std::string& socket_path);

}  // namespace sbx::app
