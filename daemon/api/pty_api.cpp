// pty.*
#include <utility>

#include "daemon/api/bind.hpp"
#include "daemon/api/convert.hpp"
#include "daemon/api/start_recording.hpp"
#include "daemon/process/pty.hpp"

namespace sbx::api {

namespace {

constexpr auto kind = workspace::handle_kind::pty;

std::shared_ptr<process::pty> pty_of(const found_recording& found) {
  return std::static_pointer_cast<process::pty>(found.what);
}

sys::screen_size to_size(std::int64_t rows, std::int64_t cols) {
  return sys::screen_size(static_cast<unsigned short>(rows), static_cast<unsigned short>(cols));
}

async::task<result<std::shared_ptr<process::recording>>> open_pty(std::shared_ptr<sandbox::sandbox> box,
                                                                  async::strand strand, process::pty_request request) {
  auto opening = process::pty::open(std::move(box), strand, std::move(request));
  auto made = co_await std::move(opening);
  if (!made) co_return fail(made.error());
  co_return std::shared_ptr<process::recording>(*made);
}

async::task<result<std::string>> open_on_strand(core& c, place where, proto::pty_open_params wanted,
                                                sandbox::progress_fn progress) {
  process::pty_request request;
  request.size = to_size(wanted.rows, wanted.cols);
  request.retain_bytes =
      wanted.retain_bytes ? static_cast<std::size_t>(*wanted.retain_bytes) : c.registry.known().retain_bytes;
  request.grace = to_ms(wanted.grace_ms);
  start_wish wish;
  wish.kind = kind;
  wish.command = command_wish(wanted);
  wish.command.terminal = wanted.term;
  wish.start = [request](std::shared_ptr<sandbox::sandbox> box, async::strand strand, process::command command) {
    process::pty_request own = request;
    own.command = std::move(command);
    return open_pty(std::move(box), strand, std::move(own));
  };
  auto starting = start_recording(c, std::move(where), std::move(wish), std::move(progress));
  auto started = co_await std::move(starting);
  if (!started) co_return fail(started.error());
  co_return (*started)->id();
}

answer<proto::pty_open> open(core& c, rpc::call_context& call, proto::pty_open_params wanted) {
  auto finding = c.find_place(call, proto::pty_open::name, wanted.session, wanted.workspace);
  auto where = co_await std::move(finding);
  if (!where) co_return fail(where.error());
  auto asking = ask_about_command(*where, proto::pty_open::name, command_wish(wanted));
  if (auto allowed = co_await std::move(asking); !allowed) co_return fail(allowed.error());
  auto opening = open_on_strand(c, *where, std::move(wanted), progress_to(call));
  auto there = async::on(c.registry.strand(), std::move(opening));
  auto id = co_await std::move(there);
  if (!id) co_return fail(id.error());
  proto::pty_open_result out;
  out.pty = std::move(*id);
  co_return out;
}

answer<proto::pty_write> write(core& c, rpc::call_context& call, proto::pty_write_params wanted) {
  auto finding = find_recording(c, call, proto::pty_write::name, wanted.session, kind, wanted.pty);
  auto found = co_await std::move(finding);
  if (!found) co_return fail(found.error());
  auto writing = found->what->write(std::move(wanted.content.bytes), reading_for(wanted.content.forced),
                                    to_ms(wanted.wait_ms.value_or(0)));
  auto there = async::on(found->what->strand(), std::move(writing));
  const auto taken = co_await std::move(there);
  if (!taken) co_return fail(taken.error());
  proto::write_result out;
  out.accepted_bytes = static_cast<std::int64_t>(*taken);
  co_return out;
}

answer<proto::pty_resize> resize(core& c, rpc::call_context& call, proto::pty_resize_params wanted) {
  auto finding = find_recording(c, call, proto::pty_resize::name, wanted.session, kind, wanted.pty);
  auto found = co_await std::move(finding);
  if (!found) co_return fail(found.error());
  auto resizing =
      async::call_on(found->what->strand(),
                     [pty = pty_of(*found), size = to_size(wanted.rows, wanted.cols)] { return pty->resize(size); });
  if (auto done = co_await std::move(resizing); !done) co_return fail(done.error());
  co_return proto::nothing();
}

answer<proto::pty_read> read(core& c, rpc::call_context& call, proto::pty_read_params wanted) {
  auto finding = find_recording(c, call, proto::pty_read::name, wanted.session, kind, wanted.pty);
  auto found = co_await std::move(finding);
  if (!found) co_return fail(found.error());
  auto reading = read_log(c, *found, process::stream_id::out, wanted.window);
  co_return co_await std::move(reading);
}

follow_notes notes_for(const std::string& id) {
  follow_notes out;
  out.output = proto::pty_output_note::name;
  out.exited = proto::pty_exited_note::name;
  out.closed = proto::pty_closed_note::name;
  out.output_text = [id](process::stream_id, process::log_chunk chunk, std::optional<proto::encoding> forced) {
    proto::pty_output_note note;
    note.pty = id;
    note.offset = chunk.offset;
    note.content = proto::payload(std::move(chunk.data), forced);
    note.lost_bytes = chunk.lost_bytes;
    return proto::encode_text(note);
  };
  out.exited_text = [id](const process::exit_status& exit) {
    proto::pty_exited_note note;
    note.pty = id;
    note.exit = to_wire(exit);
    return proto::encode_text(note);
  };
  proto::pty_closed_note closed;
  closed.pty = id;
  out.closed_text = proto::encode_text(closed);
  return out;
}

answer<proto::pty_follow> follow(core& c, rpc::call_context& call, proto::pty_follow_params wanted) {
  auto finding = find_recording(c, call, proto::pty_follow::name, wanted.session, kind, wanted.pty);
  auto found = co_await std::move(finding);
  if (!found) co_return fail(found.error());
  start_following(c, call, *found, wanted.offset, wanted.encoding, notes_for(wanted.pty));
  co_return proto::nothing();
}

answer<proto::pty_unfollow> unfollow(core& c, rpc::call_context& call, proto::pty_params wanted) {
  if (stop_following(call, wanted.pty)) co_return proto::nothing();
  auto finding = find_recording(c, call, proto::pty_unfollow::name, wanted.session, kind, wanted.pty);
  auto found = co_await std::move(finding);
  if (!found) co_return fail(found.error());
  co_return proto::nothing();
}

answer<proto::pty_wait> wait(core& c, rpc::call_context& call, proto::pty_wait_params wanted) {
  auto finding = find_recording(c, call, proto::pty_wait::name, wanted.session, kind, wanted.pty);
  auto found = co_await std::move(finding);
  if (!found) co_return fail(found.error());
  auto waiting = wait_for(found->what, wanted.timeout_ms);
  co_return co_await std::move(waiting);
}

answer<proto::pty_signal> signal(core& c, rpc::call_context& call, proto::pty_signal_params wanted) {
  const auto number = to_signal(wanted.signal);
  if (!number) co_return fail(number.error());
  auto finding = find_recording(c, call, proto::pty_signal::name, wanted.session, kind, wanted.pty);
  auto found = co_await std::move(finding);
  if (!found) co_return fail(found.error());
  auto sending = async::call_on(
      found->what->strand(),
      [what = found->what, number = *number, target = to_target(wanted.target)] { what->signal(number, target); });
  co_await std::move(sending);
  co_return proto::nothing();
}

answer<proto::pty_close> close(core& c, rpc::call_context& call, proto::pty_close_params wanted) {
  auto finding = find_recording(c, call, proto::pty_close::name, wanted.session, kind, wanted.pty);
  auto found = co_await std::move(finding);
  if (!found) co_return fail(found.error());
  auto stopping = stop_recording(found->what, wanted.grace_ms);
  auto ended = co_await std::move(stopping);
  forget(c, found->session, wanted.pty);
  co_return ended;
}

answer<proto::pty_list> list(core& c, rpc::call_context& call, proto::session_params wanted) {
  auto finding = list_recordings(c, call, proto::pty_list::name, wanted.session, kind);
  auto found = co_await std::move(finding);
  if (!found) co_return fail(found.error());
  proto::pty_list_result out;
  for (const auto& each : *found) {
    auto looking = async::call_on(each.what->strand(), [each] {
      proto::pty_entry entry;
      entry.pty = each.handle->id();
      entry.command = each.handle->line;
      if (each.handle->argv) {
        entry.argv.emplace();
        for (const auto& word : *each.handle->argv) entry.argv->emplace_back(word);
      }
      entry.workspace = each.handle->workspace();
      const auto end = describe_end(*each.what);
      entry.status = end.status;
      entry.exit = end.exit;
      entry.started_at = time_text(each.what->started_at());
      entry.total_bytes = each.what->total_bytes();
      const auto size = pty_of(each)->size();
      entry.rows = size.rows;
      entry.cols = size.cols;
      return entry;
    });
    out.ptys.push_back(co_await std::move(looking));
  }
  co_return out;
}

}  // namespace

void register_pty_methods(core& c, rpc::method_table& table) {
  bind<proto::pty_open>(table, with(c, open));
  bind<proto::pty_write>(table, with(c, write));
  bind<proto::pty_resize>(table, with(c, resize));
  bind<proto::pty_read>(table, with(c, read));
  bind<proto::pty_follow>(table, with(c, follow));
  bind<proto::pty_unfollow>(table, with(c, unfollow));
  bind<proto::pty_wait>(table, with(c, wait));
  bind<proto::pty_signal>(table, with(c, signal));
  bind<proto::pty_close>(table, with(c, close));
  bind<proto::pty_list>(table, with(c, list));
}

}  // namespace sbx::api
