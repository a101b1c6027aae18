// The bwrap backend: sbx-init as the first process of new namespaces, behind the walls of bwrap_plan.
#pragma once

#include <memory>

#include "daemon/async/blocking_pool.hpp"
#include "daemon/sandbox/backend.hpp"
#include "daemon/sandbox/factory.hpp"
#include "daemon/sandbox/helper.hpp"

namespace sbx::sandbox {

std::shared_ptr<backend> make_bwrap(async::asio::io_context& context, async::blocking_pool& pool,
                                    std::shared_ptr<helper_keeper> keeper, const backend_options& options);

}  // namespace sbx::sandbox
