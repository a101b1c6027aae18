// Wire structs of fs.* to requests of daemon/fs and back. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/fs/file_ops.hpp"
#include "daemon/fs/watch.hpp"
#include "proto/methods/fs.hpp"

namespace sbx::api {

fs::read_request to_request(const proto::fs_read_params& params);
fs::write_request to_request(proto::fs_write_params params);
fs::edit_request to_request(proto::fs_edit_params params);
fs::list_request to_request(const proto::fs_list_params& params);
fs::glob_request to_request(const proto::fs_glob_params& params);
fs::grep_request to_request(const proto::fs_grep_params& params);
fs::mkdir_request to_request(const proto::fs_mkdir_params& params);
fs::remove_request to_request(const proto::fs_remove_params& params);
fs::transfer_request to_request(const proto::fs_transfer_params& params);
fs::open_request to_request(const proto::fs_open_params& params);
fs::watch_request to_request(const proto::fs_watch_params& params);

proto::fs_read_result to_result(fs::read_reply reply, std::optional<proto::encoding> forced);
proto::fs_write_result to_result(const fs::write_reply& reply);
proto::fs_edit_result to_result(const fs::edit_reply& reply);
proto::fs_stat_result to_result(const fs::file_status& status);
proto::fs_list_result to_result(fs::list_reply reply);
proto::fs_glob_result to_result(fs::glob_reply reply);
proto::fs_grep_result to_result(fs::grep_reply reply);
proto::fs_changed_note to_note(const std::string& watch, fs::change_batch batch);

// RFC 3339 in UTC, to the millisecond.
std::string utc_time(std::int64_t nanoseconds_since_1970);

}  // namespace sbx::api
