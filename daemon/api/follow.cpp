// Followers: each sends one recording's output to one connection, as fast as that takes it.
#include <utility>

#include "daemon/api/recording_handle.hpp"

namespace sbx::api {

using namespace std::chrono_literals;

namespace {

constexpr std::size_t note_bytes_max = 256u << 10;

struct follower {
  follower() = default;
  std::shared_ptr<rpc::peer> peer;
  std::shared_ptr<process::recording> what;
  std::optional<proto::encoding> forced;
  follow_notes notes;
};
using follower_ptr = std::shared_ptr<const follower>;

// False once the connection has ended.
async::task<bool> send(std::shared_ptr<rpc::peer> peer, std::string_view name, std::string text) {
  for (;;) {
    if (peer->notify(name, text)) co_return true;
    auto waiting = peer->room();
    if (!co_await std::move(waiting)) co_return false;
  }
}

// Room first, then the bytes: what a slow reader has no room for stays in the log, or is counted as lost.
async::task<void> follow_stream(follower_ptr f, process::stream_id stream, std::int64_t offset) {
  for (;;) {
    auto waiting = f->peer->room();
    if (!co_await std::move(waiting)) co_return;
    auto coming = f->what->next(stream, offset, note_bytes_max, reading_for(f->forced));
    auto there = async::on(f->what->strand(), std::move(coming));
    process::log_chunk chunk = co_await std::move(there);
    if (!chunk.says_something()) co_return;
    offset = chunk.next_offset;
    auto sending = send(f->peer, f->notes.output, f->notes.output_text(stream, std::move(chunk), f->forced));
    if (!co_await std::move(sending)) co_return;
  }
}

async::task<void> tell_exited(follower_ptr f) {
  auto waiting = f->what->wait_exited();
  co_await std::move(waiting);
  auto sending = send(f->peer, f->notes.exited, f->notes.exited_text(*f->what->exit()));
  co_await std::move(sending);
}

async::task<void> run(core& c, follower_ptr f, std::shared_ptr<recording_handle> handle, std::int64_t offset) {
  auto answered = async::sleep_for(0ms);  // the call's reply goes first
  co_await std::move(answered);
  {
    async::task_group parts(f->peer->strand());
    for (const auto stream : {process::stream_id::out, process::stream_id::err})
      if (f->what->has_stream(stream)) parts.spawn("following a stream", follow_stream(f, stream, offset));
    parts.spawn("following an end", tell_exited(f));
    auto joining = parts.join();
    co_await std::move(joining);
  }
  set_fully_read(c, handle);
  auto sending = send(f->peer, f->notes.closed, f->notes.closed_text);
  co_await std::move(sending);
  std::static_pointer_cast<connection_data>(f->peer->state)->followers.erase(handle->id());
}

}  // namespace

void start_following(core& c, rpc::call_context& call, found_recording of, std::int64_t offset,
                     std::optional<proto::encoding> forced, follow_notes notes) {
  auto made = std::make_shared<follower>();
  made->peer = call.connection();
  made->what = of.what;
  made->forced = forced;
  made->notes = std::move(notes);
  auto& followers = core::data_of(call)->followers;
  if (const auto before = followers.find(of.handle->id()); before != followers.end()) before->second.cancel();
  followers[of.handle->id()] =
      call.connection()->tasks().spawn("following a recording", run(c, made, of.handle, offset));
}

bool stop_following(rpc::call_context& call, const std::string& id) {
  auto& followers = core::data_of(call)->followers;
  const auto known = followers.find(id);
  if (known == followers.end()) return false;
  known->second.cancel();
  followers.erase(known);
  return true;
}

}  // namespace sbx::api
