// The coroutine vocabulary of the daemon. Everything asynchronous is a task<T>, owned by a task_group.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>

#include "daemon/sys/error.hpp"

namespace sbx::async {

namespace asio = boost::asio;

template <class T>
using task = asio::awaitable<T>;

using strand = asio::strand<asio::io_context::executor_type>;

}  // namespace sbx::async
