#include "daemon/rpc/method_table.hpp"

#include <stdexcept>
#include <utility>

namespace sbx::rpc {

void method_table::add(std::string name, handler call, ordering order, stop_style stop) {
  method made;
  made.call = std::move(call);
  made.order = order;
  made.stop = stop;
  if (!methods_.emplace(name, std::move(made)).second) throw std::logic_error("method registered twice: " + name);
}

const method* method_table::find(std::string_view name) const {
  const auto at = methods_.find(name);
  return at == methods_.end() ? nullptr : &at->second;
}

}  // namespace sbx::rpc
