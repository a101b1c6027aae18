#include "daemon/api/system_api.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "daemon/api/bind.hpp"
#include "proto/schema.hpp"

namespace sbx::api {

namespace {

using sources_ptr = std::shared_ptr<const system_sources>;

std::int64_t uptime_ms(const system_sources& from) {
  const auto time = std::chrono::steady_clock::now() - from.started;
  return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

std::int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::int64_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

std::int64_t open_descriptors() {
  std::error_code failure;
  std::int64_t count = 0;
  for (std::filesystem::directory_iterator at("/proc/self/fd", failure), end; !failure && at != end;
       at.increment(failure))
    ++count;
  return count > 0 ? count - 1 : 0;  // but for the one that looked
}

std::optional<std::string> unless_empty(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return text;
}

answer<proto::system_ping> ping(rpc::call_context&, proto::nothing) {
  co_return proto::ping_result();
}

answer<proto::system_info> info(sources_ptr from, rpc::call_context&, proto::nothing) {
  proto::info_result answer;
  answer.version = SBX_VERSION;
  answer.pid = ::getpid();
  answer.uptime_ms = uptime_ms(*from);
  for (const auto& [kind, backend] : from->backends) {
    auto probing = backend->probe();
    const sandbox::availability found = co_await std::move(probing);
    proto::backend_info& told = answer.backends[std::string(sandbox::name_of(kind))];
    told.available = found.available;
    told.cause = unless_empty(found.cause);
    told.remedy = unless_empty(found.remedy);
    told.version = unless_empty(found.version);
  }
  for (const sys::feature& f : from->features) {
    proto::feature_info& told = answer.features[f.name];
    told.available = f.available;
    told.reason = unless_empty(f.reason);
  }
  co_return answer;
}

answer<proto::system_stats> stats(sources_ptr from, rpc::call_context&, proto::nothing) {
  proto::stats_result answer;
  answer.connections = from->rpc->count.connections;
  answer.connections_total = from->rpc->count.connections_total;
  answer.requests_total = from->rpc->count.requests_total;
  answer.uptime_ms = uptime_ms(*from);
  answer.rss_bytes = resident_bytes();
  answer.fds = open_descriptors();
  if (from->domain_stats) {
    auto filling = from->domain_stats(answer);
    co_await std::move(filling);
  }
  co_return answer;
}

proto::doctor_check check(std::string name, proto::check_status status, std::string detail, std::string remedy = {}) {
  proto::doctor_check made;
  made.name = std::move(name);
  made.status = status;
  made.detail = std::move(detail);
  made.remedy = unless_empty(remedy);
  return made;
}

proto::doctor_check check_socket(const std::string& path) {
  struct stat info {};
  if (path.empty()) return check("socket", proto::check_status::ok, "handed over by the service manager");
  if (::lstat(path.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode))
    return check("socket", proto::check_status::fail, path + " is gone", "restart sbxd");
  if ((info.st_mode & 077) != 0)
    return check("socket", proto::check_status::warn, path + " is open to others", "chmod 0600 " + path);
  return check("socket", proto::check_status::ok, path);
}

proto::doctor_check check_feature(const sys::feature& f) {
  if (f.available) return check(f.name, proto::check_status::ok, "available");
  return check(f.name, proto::check_status::warn, f.reason.empty() ? "not available" : f.reason);
}

answer<proto::system_doctor> doctor(sources_ptr from, rpc::call_context&, proto::nothing) {
  proto::doctor_result answer;
  answer.checks.push_back(check_socket(from->socket_path));
  bool any_isolated = false;
  for (const auto& [kind, backend] : from->backends) {
    auto probing = backend->probe();
    const sandbox::availability found = co_await std::move(probing);
    const std::string name = "backend " + std::string(sandbox::name_of(kind));
    any_isolated = any_isolated || (found.available && kind != sandbox::backend_kind::none);
    if (found.available)
      answer.checks.push_back(
          check(name, proto::check_status::ok, found.version.empty() ? "available" : found.version));
    else
      answer.checks.push_back(check(name, proto::check_status::warn, found.cause, found.remedy));
  }
  if (!any_isolated)
    answer.checks.push_back(check("isolation", proto::check_status::fail, "no backend can build walls here",
                                  "install bubblewrap, or see the remedies of the backends"));
  for (const sys::feature& f : from->features) answer.checks.push_back(check_feature(f));
  co_return answer;
}

answer<proto::rpc_discover> discover(rpc::call_context&, proto::nothing) {
  co_return proto::raw_json(proto::openrpc_text());
}

// The connection serves rpc.cancel itself, ahead of everything that waits; this stands for it in the table.
answer<proto::rpc_cancel> cancel(rpc::call_context&, proto::cancel_params) {
  co_return proto::cancel_result();
}

}  // namespace

void register_system_methods(rpc::method_table& table, const std::shared_ptr<const system_sources>& sources) {
  using namespace std::placeholders;
  bind<proto::system_ping>(table, ping);
  bind<proto::system_info>(table, std::bind(info, sources, _1, _2));
  bind<proto::system_stats>(table, std::bind(stats, sources, _1, _2));
  bind<proto::system_doctor>(table, std::bind(doctor, sources, _1, _2));
  bind<proto::rpc_discover>(table, discover);
  bind<proto::rpc_cancel>(table, cancel);
}

}  // namespace sbx::api
