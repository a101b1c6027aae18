// fs.watch and fs.unwatch.
#pragma once

#include "daemon/api/core.hpp"

namespace sbx::api {

void register_watch_methods(core& c, rpc::method_table& table);

}  // namespace sbx::api
