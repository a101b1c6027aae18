// The backend without walls: sbx-init as a child subreaper on the host. It ends what it started, and hides nothing.
#pragma once

#include <memory>

#include "daemon/sandbox/backend.hpp"
#include "daemon/sandbox/factory.hpp"
#include "daemon/sandbox/helper.hpp"

namespace sbx::sandbox {

std::shared_ptr<backend> make_none(async::asio::io_context& context, std::shared_ptr<helper_keeper> keeper,
                                   const backend_options& options);

}  // namespace sbx::sandbox
