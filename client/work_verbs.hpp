// What the verbs on jobs and terminals share.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "client/app.hpp"
#include "client/verbs.hpp"
#include "proto/methods/job.hpp"

namespace sbx::client {

// All of it; false when nobody reads any more.
bool write_to(int fd, std::string_view bytes);

std::string status_words(proto::run_status status, const std::optional<proto::exit_info>& exit);  // "exited 3"
std::string command_words(const std::optional<std::string>& command,
                          const std::optional<std::vector<proto::c_bytes>>& argv);
std::string signal_name(std::string_view given);  // "int", "INT" → "SIGINT"

// Options of job read and pty read.
struct log_window {
  std::optional<std::int64_t> offset, max_bytes, wait_ms;
  void describe(options& o);
  proto::read_window window() const;
};

int show_read(app& a, const outcome<reply<proto::log_read_result>>& answer);
// Exits as the command did, 124 while it runs.
int show_wait(app& a, const outcome<reply<proto::wait_result>>& answer);

// Writes words[1], or all of stdin, by `write`, which is told which piece is the last. `send_empty`: also when there is
// none.
using write_piece = std::function<outcome<reply<proto::write_result>>(std::string bytes, bool last)>;
int write_input(app& a, const std::vector<std::string>& words, const write_piece& write, bool send_empty);

}  // namespace sbx::client
