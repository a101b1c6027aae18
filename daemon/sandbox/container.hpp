// The docker and podman backends: sbx-init as the first process of a container.
#pragma once

#include <memory>

#include "daemon/async/blocking_pool.hpp"
#include "daemon/sandbox/backend.hpp"
#include "daemon/sandbox/factory.hpp"
#include "daemon/sandbox/helper.hpp"

namespace sbx::sandbox {

// `kind` is docker or podman.
std::shared_ptr<backend> make_container(async::asio::io_context& context, async::blocking_pool& pool,
                                        std::shared_ptr<helper_keeper> keeper, backend_kind kind,
                                        const backend_options& options);

}  // namespace sbx::sandbox
