// Small things that integration tests need: deadlines, directories, processes as /proc shows them.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/sys/fd.hpp"

namespace sbx::test {

using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using namespace std::chrono_literals;

// Milliseconds from `start` until now.
std::int64_t since_ms(clock::time_point start);

std::string random_word();  // 12 lower-case letters and digits

// Asks `holds` again after each `step` until it does or the time is over: for states that no event tells of.
bool eventually(const std::function<bool()>& holds, milliseconds limit = 5000ms, milliseconds step = 10ms);

std::string read_file(const std::string& path);  // empty when it cannot be read
void write_file(const std::string& path, std::string_view text, mode_t mode = 0644);
bool exists(const std::string& path);  // lstat

struct pipe_ends {
  sys::unique_fd read, write;
};
pipe_ends make_pipe();
std::string read_all(sys::fd_ref fd, milliseconds limit = 20000ms);  // to end-of-file; REQUIREs it in time

// Processes whose command line holds `mark`.
std::vector<pid_t> processes_with(const std::string& mark);
std::vector<pid_t> children_of(pid_t pid);
std::optional<std::string> status_field(pid_t pid, const std::string& name);  // of /proc/PID/status
std::int64_t resident_kb(pid_t pid);
std::int64_t private_kb(pid_t pid);  // of smaps_rollup: Private_Clean + Private_Dirty
int open_descriptors(pid_t pid);

// A finished child: its wait status and what it wrote.
struct run_result {
  int status = -1;  // exit code, 128 + n after signal n, -1 when it did not end in time
  std::string out, err;
};
// Runs a program here (not in a sandbox) with stdin from `input`.
run_result run(const std::vector<std::string>& argv, const std::vector<std::string>& env = {},
               const std::string& input = {}, const std::string& cwd = "/", milliseconds limit = 30000ms,
               bool as_daemon_user = false);

// Ids of the user the daemon runs as in this row.
struct ids {
  uid_t uid = 0;
  gid_t gid = 0;
};
ids daemon_ids();
// In a child before exec: becomes that user for good.
void become_daemon_user();

}  // namespace sbx::test
