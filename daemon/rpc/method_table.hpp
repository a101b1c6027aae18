// The methods that the daemon serves, by name.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "daemon/async/task.hpp"
#include "daemon/rpc/call_context.hpp"
#include "daemon/rpc/outcome.hpp"
#include "proto/jsonrpc.hpp"

namespace sbx::rpc {

// `params` is an object, or null when the request had none (proto::decode_params knows). A handler runs on the
// connection's strand; what it throws is answered as internal.
using handler = std::function<async::task<outcome>(call_context&, proto::document params)>;

enum class ordering {
  concurrent,
  barrier,  // later requests of the connection start only when this one has answered (session.attach, workspace.open)
};

// How a running call is stopped.
enum class stop_style {
  cancel,  // Asio cancellation; the reply is sent when the handler has ended by it
  ask,     // call_context::stopping() alone: the handler cleans up and answers
};

struct method {
  method() = default;
  handler call;
  ordering order = ordering::concurrent;
  stop_style stop = stop_style::cancel;
};

class method_table {
 public:
  // Once a name, before anything is served.
  void add(std::string name, handler call, ordering order = ordering::concurrent, stop_style stop = stop_style::cancel);
  const method* find(std::string_view name) const;
  std::size_t size() const { return methods_.size(); }

 private:
  std::map<std::string, method, std::less<>> methods_;
};

// What api wants to know of connections. Called on the connection's strand.
struct connection_hooks {
  connection_hooks() = default;
  std::function<void(peer&)> opened;                               // before its first request
  std::function<async::task<void>(std::shared_ptr<peer>)> closed;  // after its requests and tasks have ended
};

}  // namespace sbx::rpc
