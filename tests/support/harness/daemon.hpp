// A real sbxd of its own for one test: own directories, own socket, in this row's user. At its end it is stopped and
// what it leaves is counted: a test that leaves a process, a mount or a file behind fails.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/harness/client.hpp"
#include "tests/support/harness/util.hpp"

namespace sbx::test {

struct daemon_options {
  std::string config;                      // text of the configuration; empty: none
  std::vector<std::string> arguments;      // further ones
  std::map<std::string, std::string> env;  // over the fixture's
  std::function<void()> before_exec;       // in the child, before it becomes the daemon's user
  std::string programs;                    // where sbxd and sbx-init are taken from; empty: the ones under test
  bool wait_ready = true;
};

std::string program(const std::string& name);  // the path of a program under test

class test_daemon {
 public:
  explicit test_daemon(daemon_options options = {});
  ~test_daemon();
  test_daemon(const test_daemon&) = delete;
  test_daemon& operator=(const test_daemon&) = delete;

  const std::string& directory() const { return directory_; }  // 0755, owned by the daemon's user; removed at the end
  const std::string& socket() const { return socket_; }
  pid_t pid() const { return pid_; }
  client connect(framing kind = framing::lines) const { return client(socket_, kind); }
  std::string log() const { return read_file(directory_ + "/log"); }
  const std::vector<std::string>& environment() const { return environment_; }  // NAME=VALUE, as the daemon has it

  // A new directory of the daemon's user, to be a root.
  std::string make_root(const std::string& name = "root") const;

  void signal(int number) const;
  // Waits for its end; the wait status. Fails the test after `limit`.
  int wait(milliseconds limit = 15000ms);
  int stop(milliseconds limit = 15000ms);  // SIGTERM, then wait
  void kill_now();                         // SIGKILL, then wait
  void start();                            // again, in the same directories
  bool running() const { return pid_ > 0; }

  // Nothing it started is left: fails the test if something lives after `limit`.
  void expect_nothing_left(milliseconds limit = 5000ms);

 private:
  void await_ready();

  daemon_options options_;
  std::string directory_, socket_;
  std::vector<std::string> environment_;
  pid_t pid_ = -1;
  sys::unique_fd pidfd_, notify_;
};

// A daemon, a connection and a workspace on this row's backend: what most tests begin with.
struct world {
  explicit world(daemon_options options = {}, json open = json::object());

  // exec.run in the workspace; `command` is a shell line. The result object.
  json sh(const std::string& command, json more = json::object());
  json run(const std::vector<std::string>& argv, json more = json::object());
  int start_sh(const std::string& command, json more = json::object());
  std::string out(const std::string& command, json more = json::object());  // its standard output; REQUIREs exit code 0

  test_daemon host;
  client c;
  std::string root;
  std::string workspace;
};

// A shell line that starts what is hardest to end: double forks, setsid, a TERM-ignorer and a stopped process, each
// carrying `mark` on its command line; then runs `then`.
std::string stubborn_tree(const std::string& mark, const std::string& then);
// Waits until that many processes with the mark are alive.
void await_marked(const std::string& mark, std::size_t count);
// None with the mark is alive now (zombies that their parent is about to reap don't count).
bool none_alive(const std::string& mark);

}  // namespace sbx::test
