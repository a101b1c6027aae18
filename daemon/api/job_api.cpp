// job.*
#include <utility>

#include "daemon/api/bind.hpp"
#include "daemon/api/convert.hpp"
#include "daemon/api/start_recording.hpp"
#include "daemon/process/job.hpp"
#include "daemon/workspace/handle_id.hpp"

namespace sbx::api {

namespace {

using namespace std::chrono_literals;
constexpr auto kind = workspace::handle_kind::job;
constexpr auto key_age_max = 1h;
constexpr std::size_t keys_max = 100'000;

std::shared_ptr<process::job> job_of(const found_recording& found) {
  return std::static_pointer_cast<process::job>(found.what);
}

process::job_request to_request(const proto::job_start_params& wanted, const workspace::settings& known) {
  process::job_request out;
  out.keep_stdin = wanted.keep_stdin;
  out.streams =
      wanted.streams == proto::job_streams::split ? process::stream_layout::split : process::stream_layout::merged;
  out.retain_bytes = wanted.retain_bytes ? static_cast<std::size_t>(*wanted.retain_bytes) : known.retain_bytes;
  out.retain = wanted.retain == proto::retain_rule::head ? process::retain_rule::head : process::retain_rule::tail;
  out.timeout = to_ms(wanted.timeout_ms);
  out.grace = to_ms(wanted.grace_ms);
  return out;
}

async::task<result<std::shared_ptr<process::recording>>> start_job(std::shared_ptr<sandbox::sandbox> box,
                                                                   async::strand strand, process::job_request request) {
  auto starting = process::job::start(std::move(box), strand, std::move(request));
  auto made = co_await std::move(starting);
  if (!made) co_return fail(made.error());
  co_return std::shared_ptr<process::recording>(*made);
}

async::task<result<std::string>> start_once(core& c, place where, proto::job_start_params wanted,
                                            sandbox::progress_fn progress) {
  start_wish wish;
  wish.command = command_wish(wanted);
  wish.start = [request = to_request(wanted, c.registry.known())](std::shared_ptr<sandbox::sandbox> box,
                                                                  async::strand strand, process::command command) {
    process::job_request own = request;
    own.command = std::move(command);
    return start_job(std::move(box), strand, std::move(own));
  };
  auto starting = start_recording(c, where, std::move(wish), std::move(progress));
  auto started = co_await std::move(starting);
  if (!started) co_return fail(started.error());
  co_return (*started)->id();
}

// A key is remembered an hour past its job.
void forget_old_keys(workspace::session& session) {
  const auto now = std::chrono::steady_clock::now();
  std::erase_if(session.keys, [now](const auto& item) {
    auto& known = *item.second;
    if (!known.settled.is_set()) return false;
    const auto job = known.job.lock();
    const auto* recording = static_cast<const recording_handle*>(job.get());
    if (!known.ended_at && (!recording || recording->closed_at))
      known.ended_at = recording ? *recording->closed_at : now;
    return known.ended_at && now - *known.ended_at > key_age_max;
  });
}

// Settles the key whatever way out is taken; a start that failed leaves none.
class key_guard {
 public:
  key_guard(std::shared_ptr<workspace::session> session, std::string key, std::shared_ptr<workspace::keyed_start> entry)
      : session_(std::move(session)), key_(std::move(key)), entry_(std::move(entry)) {}
  ~key_guard() {
    if (entry_->handle_id.empty()) session_->keys.erase(key_);
    entry_->settled.set();
  }
  key_guard(const key_guard&) = delete;
  key_guard& operator=(const key_guard&) = delete;

 private:
  std::shared_ptr<workspace::session> session_;
  std::string key_;
  std::shared_ptr<workspace::keyed_start> entry_;
};

// On the registry's strand: the same key and parameters are the same job, however many ask at once.
async::task<result<std::string>> start_keyed(core& c, place where, proto::job_start_params wanted,
                                             sandbox::progress_fn progress) {
  if (!wanted.key) {
    auto starting = start_once(c, std::move(where), std::move(wanted), std::move(progress));
    co_return co_await std::move(starting);
  }
  wanted.session.reset();
  const std::string key = *wanted.key, parameters = proto::encode_text(wanted);
  for (;;) {
    if (where.session->keys.size() >= 1024) forget_old_keys(*where.session);
    const auto found = where.session->keys.find(key);
    if (found == where.session->keys.end()) break;
    const auto known = found->second;
    if (known->parameters != parameters)
      co_return fail(error_kind::conflict, "This key stands for a start with other parameters.");
    auto settling = known->settled.wait();
    co_await std::move(settling);
    if (!known->handle_id.empty()) co_return known->handle_id;
  }
  if (where.session->keys.size() >= keys_max)
    co_return fail(error(error_kind::limit, "There are too many keys.")
                       .with("limit", std::string("keys"))
                       .with("max", static_cast<std::int64_t>(keys_max)));
  auto entry = std::make_shared<workspace::keyed_start>();
  entry->parameters = parameters;
  where.session->keys.emplace(key, entry);
  key_guard guard(where.session, key, entry);
  auto starting = start_once(c, where, std::move(wanted), std::move(progress));
  auto started = co_await std::move(starting);
  if (!started) co_return fail(started.error());
  entry->handle_id = *started;
  if (const auto held = where.session->handles.find(*started); held != where.session->handles.end())
    entry->job = held->second;
  co_return *started;
}

answer<proto::job_start> start(core& c, rpc::call_context& call, proto::job_start_params wanted) {
  auto finding = c.find_place(call, proto::job_start::name, wanted.session, wanted.workspace);
  auto where = co_await std::move(finding);
  if (!where) co_return fail(where.error());
  auto asking = ask_about_command(*where, proto::job_start::name, command_wish(wanted));
  if (auto allowed = co_await std::move(asking); !allowed) co_return fail(allowed.error());
  auto starting = start_keyed(c, *where, std::move(wanted), progress_to(call));
  auto there = async::on(c.registry.strand(), std::move(starting));
  auto id = co_await std::move(there);
  if (!id) co_return fail(id.error());
  proto::job_start_result out;
  out.job = std::move(*id);
  co_return out;
}

proto::collected_part describe_part(process::collected part, std::optional<proto::encoding> forced) {
  proto::collected_part out;
  out.content = proto::payload(std::move(part.data), forced);
  out.dropped_bytes = part.dropped_bytes;
  out.truncated = part.truncated;
  out.more = part.more;
  return out;
}

answer<proto::job_collect> collect(core& c, rpc::call_context& call, proto::job_collect_params wanted) {
  auto finding = find_recording(c, call, proto::job_collect::name, wanted.session, kind, wanted.job);
  auto found = co_await std::move(finding);
  if (!found) co_return fail(found.error());
  struct taken {
    taken() = default;
    proto::job_collect_result answer;
    bool delivered = false;
  };
  auto collecting = async::call_on(found->what->strand(), [job = job_of(*found), wanted] {
    const auto bytes = static_cast<std::size_t>(wanted.max_bytes);
    const auto how = reading_for(wanted.encoding);
    taken out;
    static_cast<proto::collected_part&>(out.answer) =
        describe_part(job->collect(process::stream_id::out, bytes, how), wanted.encoding);
    if (job->has_stream(process::stream_id::err))
      out.answer.err = describe_part(job->collect(process::stream_id::err, bytes, how), wanted.encoding);
    const auto end = describe_end(*job);
    out.answer.status = end.status;
    out.answer.exit = end.exit;
    out.delivered = job->delivered();
    return out;
  });
  auto done = co_await std::move(collecting);
  if (done.delivered) forget(c, found->session, wanted.job);
  co_return std::move(done.answer);
}

answer<proto::job_read> read(core& c, rpc::call_context& call, proto::job_read_params wanted) {
  auto finding = find_recording(c, call, proto::job_read::name, wanted.session, kind, wanted.job);
  auto found = co_await std::move(finding);
  if (!found) co_return fail(found.error());
  const auto stream = wanted.stream == proto::stream_name::err ? process::stream_id::err : process::stream_id::out;
  auto reading = read_log(c, *found, stream, wanted.window);
  co_return co_await std::move(reading);
}

follow_notes notes_for(const std::string& id) {
  follow_notes out;
  out.output = proto::job_output_note::name;
  out.exited = proto::job_exited_note::name;
  out.closed = proto::job_closed_note::name;
  out.output_text = [id](process::stream_id stream, process::log_chunk chunk, std::optional<proto::encoding> forced) {
    proto::job_output_note note;
    note.job = id;
    note.stream = stream == process::stream_id::err ? proto::stream_name::err : proto::stream_name::out;
    note.offset = chunk.offset;
    note.content = proto::payload(std::move(chunk.data), forced);
    note.lost_bytes = chunk.lost_bytes;
    return proto::encode_text(note);
  };
  out.exited_text = [id](const process::exit_status& exit) {
    proto::job_exited_note note;
    note.job = id;
    note.exit = to_wire(exit);
    return proto::encode_text(note);
  };
  proto::job_closed_note closed;
  closed.job = id;
  out.closed_text = proto::encode_text(closed);
  return out;
}

answer<proto::job_follow> follow(core& c, rpc::call_context& call, proto::job_follow_params wanted) {
  auto finding = find_recording(c, call, proto::job_follow::name, wanted.session, kind, wanted.job);
  auto found = co_await std::move(finding);
  if (!found) co_return fail(found.error());
  start_following(c, call, *found, wanted.offset, wanted.encoding, notes_for(wanted.job));
  co_return proto::nothing();
}

answer<proto::job_unfollow> unfollow(core& c, rpc::call_context& call, proto::job_params wanted) {
  if (stop_following(call, wanted.job)) co_return proto::nothing();
  auto finding = find_recording(c, call, proto::job_unfollow::name, wanted.session, kind, wanted.job);
  auto found = co_await std::move(finding);
  if (!found) co_return fail(found.error());
  co_return proto::nothing();
}

answer<proto::job_wait> wait(core& c, rpc::call_context& call, proto::job_wait_params wanted) {
  auto finding = find_recording(c, call, proto::job_wait::name, wanted.session, kind, wanted.job);
  auto found = co_await std::move(finding);
  if (!found) co_return fail(found.error());
  auto waiting = wait_for(found->what, wanted.timeout_ms);
  co_return co_await std::move(waiting);
}

answer<proto::job_write> write(core& c, rpc::call_context& call, proto::job_write_params wanted) {
  auto finding = find_recording(c, call, proto::job_write::name, wanted.session, kind, wanted.job);
  auto found = co_await std::move(finding);
  if (!found) co_return fail(found.error());
  const auto then = wanted.eof ? process::job::after_write::close : process::job::after_write::keep_open;
  auto writing = job_of(*found)->write_then(std::move(wanted.content.bytes), reading_for(wanted.content.forced),
                                            to_ms(wanted.wait_ms.value_or(0)), then);
  auto there = async::on(found->what->strand(), std::move(writing));
  const auto taken = co_await std::move(there);
  if (!taken) co_return fail(taken.error());
  proto::write_result out;
  out.accepted_bytes = static_cast<std::int64_t>(*taken);
  co_return out;
}

answer<proto::job_signal> signal(core& c, rpc::call_context& call, proto::job_signal_params wanted) {
  const auto number = to_signal(wanted.signal);
  if (!number) co_return fail(number.error());
  auto finding = find_recording(c, call, proto::job_signal::name, wanted.session, kind, wanted.job);
  auto found = co_await std::move(finding);
  if (!found) co_return fail(found.error());
  auto sending = async::call_on(
      found->what->strand(),
      [what = found->what, number = *number, target = to_target(wanted.target)] { what->signal(number, target); });
  co_await std::move(sending);
  co_return proto::nothing();
}

answer<proto::job_stop> stop(core& c, rpc::call_context& call, proto::job_stop_params wanted) {
  auto finding = find_recording(c, call, proto::job_stop::name, wanted.session, kind, wanted.job);
  auto found = co_await std::move(finding);
  if (!found) co_return fail(found.error());
  auto stopping = stop_recording(found->what, wanted.grace_ms);
  co_return co_await std::move(stopping);
}

answer<proto::job_list> list(core& c, rpc::call_context& call, proto::session_params wanted) {
  auto finding = list_recordings(c, call, proto::job_list::name, wanted.session, kind);
  auto found = co_await std::move(finding);
  if (!found) co_return fail(found.error());
  proto::job_list_result out;
  for (const auto& each : *found) {
    auto looking = async::call_on(each.what->strand(), [each] {
      proto::job_entry entry;
      entry.job = each.handle->id();
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
      return entry;
    });
    out.jobs.push_back(co_await std::move(looking));
  }
  co_return out;
}

}  // namespace

void register_job_methods(core& c, rpc::method_table& table) {
  bind<proto::job_start>(table, with(c, start));
  bind<proto::job_collect>(table, with(c, collect));
  bind<proto::job_read>(table, with(c, read));
  bind<proto::job_follow>(table, with(c, follow));
  bind<proto::job_unfollow>(table, with(c, unfollow));
  bind<proto::job_wait>(table, with(c, wait));
  bind<proto::job_write>(table, with(c, write));
  bind<proto::job_signal>(table, with(c, signal));
  bind<proto::job_stop>(table, with(c, stop));
  bind<proto::job_list>(table, with(c, list));
}

}  // namespace sbx::api
