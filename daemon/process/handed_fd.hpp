// Descriptors that a client hands over to a command.
#pragma once

#include "daemon/sys/error.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::process {

enum class direction { command_reads, command_writes };
enum class handing { walled, unwalled };

// Behind walls only a pipe, a socket or /dev/null may be handed over: a terminal, directory or file would carry its
// opener's rights through. Always in the right direction. Error: invalid_params.
result<void> check_handed_fd(sys::fd_ref fd, direction way, handing how);

}  // namespace sbx::process
