// What the daemon and sbx-init say to each other: a fixed header, then plain structs and NUL-separated strings.
// Header-only and free of allocation, because init uses it without any library. Both ends run on one machine: host byte
// order.
//
// Control (daemon <-> init), stream:     down: setup, anchor (+1 descriptor), list
//                                        up:   ready (+ devpts), listed
// Leash (daemon <-> anchor), seqpacket:  down: spawn (+3… descriptors), signal, status
//                                        up:   started | spawn_failed, exited, closed, state
// An anchor that can't be made answers its leash with spawn_failed, before any spawn, and end-of-file.
// A message of a leash is one packet, so that no killed process can leave half of one. Descriptors ride on the first
// byte of their message's header. End-of-file from the daemon is the order to end.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace sbx::sys::init_wire {

constexpr std::uint32_t version = 2;

enum class message : std::uint32_t {
  setup = 1,
  anchor,
  list,
  ready = 16,
  listed,
  spawn = 32,
  signal,
  status,
  started = 48,
  spawn_failed,
  exited,
  closed,
  state,
};

struct header {
  message type;
  std::uint32_t bytes;   // of what follows
  std::uint32_t serial;  // of the request; repeated in its answer
  std::uint32_t fds;     // how many ride along
};

constexpr std::uint32_t packet_bytes_max = 48u << 10;  // of a leash's message, header included
constexpr std::uint32_t spawn_bytes_max = 8u << 20;    // beyond the kernel's own limit on arguments and environment
constexpr std::uint32_t report_bytes_max = 4u << 20;   // of anything that comes up
constexpr std::uint32_t spawn_fds_max = 8;             // that the command gets
constexpr std::uint32_t rlimit_count_max = 16;
constexpr std::uint32_t processes_max = 8192;                                            // in one `listed`
constexpr std::uint32_t arguments_bytes_max = 4096, all_arguments_bytes_max = 1u << 20;  // of one process, of all
constexpr std::uint32_t members_max = 8192;                                              // in one `state`

struct rlimit_entry {
  std::uint32_t resource, reserved;
  std::uint64_t soft, hard;
};

struct setup {
  std::uint32_t version;
  std::uint32_t umask;
  std::uint32_t rlimit_count;  // 0: commands keep what init has
  std::uint32_t reserved;
  rlimit_entry rlimits[rlimit_count_max];
};

struct ready {
  std::uint32_t version;
  std::uint32_t uid, gid;
  std::uint32_t has_devpts;
};

// With a text of `text_bytes`, strings each ended by NUL: cwd, search path for argv[0] (empty: PATH of env), root_count
// roots (cwd must end beneath one; none: anywhere), argv, env. The text follows in the packet or, when it is too long
// for that, in a file that is the last descriptor and nobody else's (spawn_text_in_file).
struct spawn {
  std::uint32_t root_count, argv_count, env_count;
  std::uint32_t flags;
  std::uint32_t text_bytes;
};
constexpr std::uint32_t spawn_controlling_terminal = 1;
constexpr std::uint32_t spawn_text_in_file = 2;

enum class target : std::uint32_t { tree, leader };
struct signal {
  std::uint32_t number;
  init_wire::target target;
};

struct started {
  std::int32_t pid;
};

enum class stage : std::uint32_t { fork = 1, cwd, exec, stdin_, pty };
enum class reason : std::uint32_t {
  other,
  not_found,
  not_executable,
  bad_interpreter,
  bad_format,
  bad_cwd,
  cwd_outside,
  too_big,
  resources,
};
struct spawn_failed {
  init_wire::stage stage;
  init_wire::reason reason;
  std::int32_t error;
};

struct exited {
  std::int32_t wait_status;
  std::uint32_t closed;  // 1: no descendant is left either, so no `closed` follows
  std::int64_t user_us, system_us, max_rss_kib;
};

// Answer to status: followed by `count` pids of living descendants, the leader included while it lives.
struct state {
  std::uint32_t count;
};

struct process {
  std::int32_t pid, ppid, leader;  // leader of the command it belongs to, 0 for none
  std::uint32_t state;             // as in /proc/PID/stat
  std::int64_t rss_bytes, cpu_ms;
  std::uint32_t arguments_bytes, reserved;  // of its /proc/PID/cmdline, cut at arguments_bytes_max
};
// Followed by `count` processes, then the arguments of each, one after the other, arguments_bytes in all.
struct listed {
  std::uint32_t count, arguments_bytes;
};

static_assert(sizeof(header) + sizeof(state) + members_max * sizeof(std::int32_t) <= packet_bytes_max);

}  // namespace sbx::sys::init_wire
