#include "daemon/api/recording_handle.hpp"

#include <algorithm>
#include <boost/asio/dispatch.hpp>
#include <utility>

#include "daemon/api/convert.hpp"
#include "daemon/workspace/handle_id.hpp"

namespace sbx::api {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t closed_max = 256;
constexpr auto closed_age_max = 1h;

}  // namespace

recording_handle::recording_handle(workspace::handle_kind kind, std::string id, std::string workspace)
    : handle(kind, std::move(id), std::move(workspace)) {}

async::task<void> recording_handle::end() {
  ending_ = true;
  if (!what_ && interrupt) interrupt();
  auto settling = settled_.wait();
  co_await std::move(settling);
  if (!what_) co_return;
  const auto what = what_;
  auto ending = what->end();
  auto there = async::on(what->strand(), std::move(ending));
  co_await std::move(there);
}

bool recording_handle::active() const {
  return !what_ || !what_->closed();
}

void recording_handle::started(std::shared_ptr<process::recording> what) {
  what_ = std::move(what);
  interrupt = nullptr;
  settled_.set();
}

void recording_handle::failed() {
  interrupt = nullptr;
  settled_.set();
}

void forget_old(workspace::session& session) {
  const auto now = std::chrono::steady_clock::now();
  std::vector<std::shared_ptr<recording_handle>> closed;
  for (auto at = session.handles.begin(); at != session.handles.end();) {
    const auto known = std::dynamic_pointer_cast<recording_handle>(at->second);
    if (!known || !known->closed_at) {
      ++at;
    } else if (now - *known->closed_at > closed_age_max) {
      at = session.handles.erase(at);
    } else {
      closed.push_back(known);
      ++at;
    }
  }
  if (closed.size() <= closed_max) return;
  std::sort(closed.begin(), closed.end(), [](const auto& a, const auto& b) {
    if (a->fully_read != b->fully_read) return a->fully_read;
    return *a->closed_at < *b->closed_at;
  });
  for (std::size_t i = 0; i < closed.size() - closed_max; ++i) session.handles.erase(closed[i]->id());
}

async::task<void> watch_closing(std::shared_ptr<workspace::session> session, std::shared_ptr<recording_handle> handle) {
  const auto what = handle->what();
  auto closing = what->wait_closed();
  co_await std::move(closing);
  handle->closed_at = std::chrono::steady_clock::now();
  forget_old(*session);
}

async::task<result<found_recording>> find_recording(core& c, rpc::call_context& call, std::string_view method,
                                                    std::optional<std::string> session, workspace::handle_kind kind,
                                                    std::string id) {
  auto finding = c.find_handle(call, method, std::move(session), kind, id);
  auto found = co_await std::move(finding);
  if (!found) co_return fail(found.error());
  found_recording out;
  out.session = found->where.session;
  out.handle = std::static_pointer_cast<recording_handle>(found->handle);
  auto looking = async::call_on(c.registry.strand(), [handle = out.handle] { return handle->what(); });
  out.what = co_await std::move(looking);
  if (!out.what) co_return fail(workspace::no_such_handle(id));
  co_return out;
}

async::task<result<std::vector<found_recording>>> list_recordings(core& c, rpc::call_context& call,
                                                                  std::string_view method,
                                                                  std::optional<std::string> session,
                                                                  workspace::handle_kind kind) {
  auto finding = c.find_place(call, method, std::move(session), std::nullopt);
  auto where = co_await std::move(finding);
  if (!where) co_return fail(where.error());
  if (!where->to_ask.empty()) {
    proto::policy_authorize_params what;
    what.method = method;
    what.session = where->session->id;
    auto asking = ask(where->to_ask, std::move(what));
    if (auto allowed = co_await std::move(asking); !allowed) co_return fail(allowed.error());
  }
  auto looking = async::call_on(c.registry.strand(), [session = where->session, kind] {
    forget_old(*session);
    std::vector<found_recording> out;
    for (const auto& [id, held] : session->handles) {
      if (held->kind() != kind) continue;
      found_recording entry;
      entry.session = session;
      entry.handle = std::static_pointer_cast<recording_handle>(held);
      entry.what = entry.handle->what();
      if (entry.what && !entry.handle->hidden) out.push_back(std::move(entry));
    }
    std::sort(out.begin(), out.end(),
              [](const auto& a, const auto& b) { return a.what->started_at() < b.what->started_at(); });
    return out;
  });
  co_return co_await std::move(looking);
}

void set_fully_read(core& c, std::shared_ptr<recording_handle> handle) {
  async::asio::dispatch(c.registry.strand(), [handle = std::move(handle)] { handle->fully_read = true; });
}

void forget(core& c, std::shared_ptr<workspace::session> session, std::string id) {
  async::asio::dispatch(c.registry.strand(),
                        [session = std::move(session), id = std::move(id)] { session->handles.erase(id); });
}

process::reading reading_for(const std::optional<proto::encoding>& forced) {
  return forced == proto::encoding::base64 ? process::reading::bytes : process::reading::text;
}

proto::wait_result describe_end(const process::recording& what) {
  proto::wait_result out;
  if (const auto exit = what.exit()) {
    out.status = proto::run_status::exited;
    out.exit = to_wire(*exit);
  }
  return out;
}

async::task<proto::log_read_result> read_log(core& c, found_recording of, process::stream_id stream,
                                             proto::read_window window) {
  auto reading = of.what->read(stream, window.offset, static_cast<std::size_t>(window.max_bytes),
                               reading_for(window.encoding), to_ms(window.wait_ms.value_or(0)));
  auto there = async::on(of.what->strand(), std::move(reading));
  auto got = co_await std::move(there);
  if (got.eof) set_fully_read(c, of.handle);
  proto::log_read_result out;
  out.content = proto::payload(std::move(got.data), window.encoding);
  out.offset = got.offset;
  out.next_offset = got.next_offset;
  out.lost_bytes = got.lost_bytes;
  out.eof = got.eof;
  if (got.exit) {
    out.status = proto::run_status::exited;
    out.exit = to_wire(*got.exit);
  }
  co_return out;
}

async::task<proto::wait_result> wait_for(std::shared_ptr<process::recording> what,
                                         std::optional<std::int64_t> timeout_ms) {
  auto waiting = what->wait_exited_for(to_ms(timeout_ms));
  auto there = async::on(what->strand(), std::move(waiting));
  co_await std::move(there);
  co_return describe_end(*what);
}

async::task<proto::wait_result> stop_recording(std::shared_ptr<process::recording> what,
                                               std::optional<std::int64_t> grace_ms) {
  auto stopping = what->stop(to_ms(grace_ms));
  auto there = async::on(what->strand(), std::move(stopping));
  co_await std::move(there);
  co_return describe_end(*what);
}

}  // namespace sbx::api
