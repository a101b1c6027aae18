// fs.*, but for watches.
#include <cstdlib>
#include <utility>

#include "daemon/api/bind.hpp"
#include "daemon/api/convert.hpp"
#include "daemon/api/fs_call.hpp"
#include "daemon/api/watch_api.hpp"

namespace sbx::api {

namespace {

using fs::root_set;

fs_subject subject(std::string path, fs::last_link last = fs::last_link::follow) {
  fs_subject out;
  out.path = std::move(path);
  out.last = last;
  return out;
}

proto::file_type to_wire(fs::file_type type) {
  static_assert(static_cast<int>(proto::file_type::device) == static_cast<int>(fs::file_type::device));
  return static_cast<proto::file_type>(type);
}

std::string mode_text(mode_t mode) {
  char text[16];
  std::snprintf(text, sizeof text, "%04o", static_cast<unsigned>(mode));
  return text;
}

answer<proto::fs_read> read(core& c, rpc::call_context& call, proto::fs_read_params wanted) {
  auto finding = find_files(c, call, proto::fs_read::name, wanted, subject(wanted.path));
  auto at = co_await std::move(finding);
  if (!at) co_return fail(at.error());
  fs::read_request request;
  request.path = wanted.path;
  request.offset = wanted.offset.value_or(0);
  request.max_bytes = wanted.max_bytes;
  if (wanted.lines) request.lines = fs::line_range(wanted.lines->start, wanted.lines->count);
  if (wanted.encoding == proto::encoding::base64) request.tail = fs::tail_bytes::exact;
  if (wanted.max_bytes > (256 << 10)) {
    auto reserving = call.reserve_reply(static_cast<std::size_t>(wanted.max_bytes));
    co_await std::move(reserving);
  }
  auto reading = run_files(c, call, *at, [request](const root_set& roots, const fs::call& how) {
    return fs::read_file(roots, request, how);
  });
  auto got = co_await std::move(reading);
  if (!got) co_return fail(got.error());
  proto::fs_read_result out;
  out.content = proto::payload(std::move(got->data), wanted.encoding);
  out.size = got->size;
  out.offset = got->offset;
  out.next_offset = got->next_offset;
  out.eof = got->eof;
  out.etag = std::move(got->etag);
  out.mtime = time_text_ns(got->mtime_ns);
  co_return out;
}

answer<proto::fs_write> write(core& c, rpc::call_context& call, proto::fs_write_params wanted) {
  auto finding = find_files(c, call, proto::fs_write::name, wanted, subject(wanted.path));
  auto at = co_await std::move(finding);
  if (!at) co_return fail(at.error());
  auto request = std::make_shared<fs::write_request>();  // shared: the data is not copied for each try
  request->path = wanted.path;
  request->data = std::move(wanted.content.bytes);
  if (wanted.mode) request->mode = static_cast<mode_t>(std::strtoul(wanted.mode->c_str(), nullptr, 8));
  request->parents = wanted.parents;
  request->append = wanted.append;
  request->if_absent = wanted.if_absent;
  request->sync = wanted.sync;
  request->if_match = wanted.if_match;
  auto writing = run_files(c, call, *at, [request](const root_set& roots, const fs::call& how) {
    return fs::write_file(roots, *request, how);
  });
  auto done = co_await std::move(writing);
  if (!done) co_return fail(done.error());
  proto::fs_write_result out;
  out.path = std::move(done->path);
  out.bytes = done->bytes;
  out.etag = std::move(done->etag);
  out.created = done->created;
  co_return out;
}

answer<proto::fs_edit> edit(core& c, rpc::call_context& call, proto::fs_edit_params wanted) {
  auto finding = find_files(c, call, proto::fs_edit::name, wanted, subject(wanted.path));
  auto at = co_await std::move(finding);
  if (!at) co_return fail(at.error());
  auto request = std::make_shared<fs::edit_request>();
  request->path = wanted.path;
  request->if_match = wanted.if_match;
  if (wanted.old_text) {
    if (wanted.old_text->value.empty()) co_return fail(wrong_param("/old", "must not be empty"));
    request->edits.emplace_back(wanted.old_text->value, wanted.new_text->value, wanted.replace_all.value_or(false));
  }
  if (wanted.edits) {
    for (std::size_t i = 0; i < wanted.edits->size(); ++i) {
      const auto& each = (*wanted.edits)[i];
      if (each.old_text.value.empty())
        co_return fail(wrong_param("/edits/" + std::to_string(i) + "/old", "must not be empty"));
      request->edits.emplace_back(each.old_text.value, each.new_text.value, each.replace_all);
    }
  }
  auto editing = run_files(c, call, *at, [request](const root_set& roots, const fs::call& how) {
    return fs::edit_file(roots, *request, how);
  });
  auto done = co_await std::move(editing);
  if (!done) co_return fail(done.error());
  proto::fs_edit_result out;
  out.replacements = done->replacements;
  out.etag = std::move(done->etag);
  co_return out;
}

answer<proto::fs_stat> stat(core& c, rpc::call_context& call, proto::fs_stat_params wanted) {
  const auto last = wanted.follow ? fs::last_link::follow : fs::last_link::keep;
  auto finding = find_files(c, call, proto::fs_stat::name, wanted, subject(wanted.path, last));
  auto at = co_await std::move(finding);
  if (!at) co_return fail(at.error());
  auto looking = run_files(c, call, *at, [path = wanted.path, last](const root_set& roots, const fs::call& how) {
    return fs::stat_file(roots, path, last, how);
  });
  auto got = co_await std::move(looking);
  if (!got) co_return fail(got.error());
  proto::fs_stat_result out;
  out.type = to_wire(got->type);
  out.size = got->size;
  out.mode = mode_text(got->mode);
  out.mtime = time_text_ns(got->mtime_ns);
  out.mtime_ns = got->mtime_ns;
  out.uid = got->uid;
  out.gid = got->gid;
  out.nlink = got->nlink;
  out.target = std::move(got->target);
  out.etag = std::move(got->etag);
  co_return out;
}

answer<proto::fs_list> list(core& c, rpc::call_context& call, proto::fs_list_params wanted) {
  auto finding = find_files(c, call, proto::fs_list::name, wanted, subject(wanted.path));
  auto at = co_await std::move(finding);
  if (!at) co_return fail(at.error());
  fs::list_request request;
  request.path = wanted.path;
  request.limit = wanted.limit;
  request.cursor = wanted.cursor.value_or("");
  auto listing = run_files(c, call, *at, [request](const root_set& roots, const fs::call& how) {
    return fs::list_directory(roots, request, how);
  });
  auto got = co_await std::move(listing);
  if (!got) co_return fail(got.error());
  proto::fs_list_result out;
  for (auto& each : got->entries) {
    proto::dir_entry entry;
    entry.name = std::move(each.name);
    entry.type = to_wire(each.type);
    entry.size = each.size;
    entry.mtime = time_text_ns(each.mtime_ns);
    out.entries.push_back(std::move(entry));
  }
  out.next_cursor = std::move(got->next_cursor);
  co_return out;
}

answer<proto::fs_glob> glob(core& c, rpc::call_context& call, proto::fs_glob_params wanted) {
  fs_subject about;
  about.path = wanted.path;
  auto finding = find_files(c, call, proto::fs_glob::name, wanted, std::move(about));
  auto at = co_await std::move(finding);
  if (!at) co_return fail(at.error());
  fs::glob_request request;
  request.pattern = wanted.pattern;
  request.path = wanted.path;
  request.hidden = wanted.hidden;
  request.limit = wanted.limit;
  auto searching = run_files(
      c, call, *at, [request](const root_set& roots, const fs::call& how) { return fs::glob(roots, request, how); });
  auto got = co_await std::move(searching);
  if (!got) co_return fail(got.error());
  proto::fs_glob_result out;
  for (auto& path : got->paths) out.add(std::move(path));
  out.truncated = got->truncated;
  co_return out;
}

answer<proto::fs_grep> grep(core& c, rpc::call_context& call, proto::fs_grep_params wanted) {
  fs_subject about;
  about.path = wanted.path;
  auto finding = find_files(c, call, proto::fs_grep::name, wanted, std::move(about));
  auto at = co_await std::move(finding);
  if (!at) co_return fail(at.error());
  fs::grep_request request;
  request.pattern = wanted.pattern;
  request.path = wanted.path;
  request.glob = wanted.glob;
  request.hidden = wanted.hidden;
  request.ignored = wanted.ignored;
  request.ignore_case = wanted.ignore_case;
  request.context = wanted.context;
  request.limit = wanted.limit;
  auto searching = run_files(
      c, call, *at, [request](const root_set& roots, const fs::call& how) { return fs::grep(roots, request, how); });
  auto got = co_await std::move(searching);
  if (!got) co_return fail(got.error());
  proto::fs_grep_result out;
  for (auto& each : got->matches) {
    proto::grep_match match;
    match.path = std::move(each.path);
    match.line = each.line;
    match.column = each.column;
    match.text = std::move(each.text);
    match.before = std::move(each.before);
    match.after = std::move(each.after);
    out.matches.push_back(std::move(match));
  }
  out.truncated = got->truncated;
  out.skipped_binary = got->skipped_binary;
  co_return out;
}

answer<proto::fs_mkdir> mkdir(core& c, rpc::call_context& call, proto::fs_mkdir_params wanted) {
  auto finding = find_files(c, call, proto::fs_mkdir::name, wanted, subject(wanted.path));
  auto at = co_await std::move(finding);
  if (!at) co_return fail(at.error());
  fs::mkdir_request request;
  request.path = wanted.path;
  request.parents = wanted.parents;
  auto making = run_files(c, call, *at, [request](const root_set& roots, const fs::call& how) {
    return fs::make_directory(roots, request, how);
  });
  if (auto done = co_await std::move(making); !done) co_return fail(done.error());
  co_return proto::nothing();
}

answer<proto::fs_remove> remove(core& c, rpc::call_context& call, proto::fs_remove_params wanted) {
  auto finding = find_files(c, call, proto::fs_remove::name, wanted, subject(wanted.path, fs::last_link::keep));
  auto at = co_await std::move(finding);
  if (!at) co_return fail(at.error());
  fs::remove_request request;
  request.path = wanted.path;
  request.recursive = wanted.recursive;
  auto removing = run_files(c, call, *at, [request](const root_set& roots, const fs::call& how) {
    return fs::remove_path(roots, request, how);
  });
  if (auto done = co_await std::move(removing); !done) co_return fail(done.error());
  co_return proto::nothing();
}

using transfer = result<void> (*)(const root_set&, const fs::transfer_request&, const fs::call&);

async::task<result<proto::nothing>> transfer_files(core& c, rpc::call_context& call, std::string_view method,
                                                   proto::fs_transfer_params wanted, transfer act) {
  fs_subject about = subject(wanted.path, fs::last_link::keep);
  about.to = wanted.to;
  auto finding = find_files(c, call, method, wanted, std::move(about));
  auto at = co_await std::move(finding);
  if (!at) co_return fail(at.error());
  fs::transfer_request request;
  request.path = wanted.path;
  request.to = wanted.to;
  request.overwrite = wanted.overwrite;
  auto working = run_files(
      c, call, *at, [request, act](const root_set& roots, const fs::call& how) { return act(roots, request, how); });
  if (auto done = co_await std::move(working); !done) co_return fail(done.error());
  co_return proto::nothing();
}

answer<proto::fs_move> move(core& c, rpc::call_context& call, proto::fs_transfer_params wanted) {
  return transfer_files(c, call, proto::fs_move::name, std::move(wanted), fs::move_path);
}
answer<proto::fs_copy> copy(core& c, rpc::call_context& call, proto::fs_transfer_params wanted) {
  return transfer_files(c, call, proto::fs_copy::name, std::move(wanted), fs::copy_path);
}

answer<proto::fs_open> open(core& c, rpc::call_context& call, proto::fs_open_params wanted) {
  auto finding = find_files(c, call, proto::fs_open::name, wanted, subject(wanted.path));
  auto at = co_await std::move(finding);
  if (!at) co_return fail(at.error());
  fs::open_request request;
  request.path = wanted.path;
  request.mode = static_cast<fs::open_mode>(wanted.flags);
  static_assert(static_cast<int>(proto::open_flags::a) == static_cast<int>(fs::open_mode::append));
  request.create = wanted.create;
  auto opening = run_files(c, call, *at, [request](const root_set& roots, const fs::call& how) {
    return fs::open_file(roots, request, how);
  });
  auto fd = co_await std::move(opening);
  if (!fd) co_return fail(fd.error());
  proto::fs_open_result out;
  out.fd = static_cast<std::int64_t>(call.reply_fd(std::move(*fd)));
  co_return out;
}

}  // namespace

void register_fs_methods(core& c, rpc::method_table& table) {
  bind<proto::fs_read>(table, with(c, read));
  bind<proto::fs_write>(table, with(c, write));
  bind<proto::fs_edit>(table, with(c, edit));
  bind<proto::fs_stat>(table, with(c, stat));
  bind<proto::fs_list>(table, with(c, list));
  bind<proto::fs_glob>(table, with(c, glob));
  bind<proto::fs_grep>(table, with(c, grep));
  bind<proto::fs_mkdir>(table, with(c, mkdir));
  bind<proto::fs_remove>(table, with(c, remove));
  bind<proto::fs_move>(table, with(c, move));
  bind<proto::fs_copy>(table, with(c, copy));
  bind<proto::fs_open>(table, with(c, open));
  register_watch_methods(c, table);
}

}  // namespace sbx::api
