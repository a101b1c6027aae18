// Binds a described method (proto/methods) to the coroutine that serves it.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "daemon/rpc/method_table.hpp"
#include "proto/jsonrpc.hpp"
#include "proto/method_list.hpp"

namespace sbx::api {

// What a handler answers: the method's result, or a domain error.
template <class Method>
using answer = async::task<result<typename Method::result>>;

// `serve` is called as serve(call_context&, Method::params) and answers answer<Method>. It is copied into the table and
// lives as long as that; a coroutine lambda with captures is safe here for that reason alone.
template <class Method, class Serve>
void bind(rpc::method_table& table, Serve serve, rpc::stop_style stop = rpc::stop_style::cancel) {
  auto call = [serve = std::move(serve)](rpc::call_context& context,
                                         proto::document params) -> async::task<rpc::outcome> {
    auto decoded = proto::decode_params<typename Method::params>(params);
    if (!decoded) co_return rpc::failure(std::move(decoded.error()));
    auto pending = serve(context, std::move(*decoded));
    const auto made = co_await std::move(pending);
    if (!made) co_return rpc::failure(made.error());
    co_return rpc::success(*made);
  };
  const auto order = proto::is_ordered<Method> ? rpc::ordering::barrier : rpc::ordering::concurrent;
  table.add(std::string(Method::name), std::move(call), order, stop);
}

}  // namespace sbx::api
