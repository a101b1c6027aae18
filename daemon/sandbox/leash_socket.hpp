// One command's leash over its socket: the implementation behind sandbox::leash.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/async/event.hpp"
#include "daemon/async/task_group.hpp"
#include "daemon/sandbox/leash.hpp"
#include "daemon/sandbox/message_reader.hpp"
#include "daemon/sys/init_wire.hpp"

namespace sbx::sandbox {

// What a leash wants from the link it came from. Callable from any thread.
struct leash_host {
  leash_host() = default;
  std::function<async::task<bool>()> enter_spawn;            // waits for one of the places; false: the sandbox has ended
  std::function<void()> leave_spawn;
  std::function<void(std::string reason)> give_up;           // init broke the protocol: the sandbox ends
  std::chrono::milliseconds answer_timeout{10'000};
};

// The state that outlives the leash object until its socket's reader has ended. Lives on its strand.
class leash_socket : public std::enable_shared_from_this<leash_socket> {
 public:
  leash_socket(async::strand strand, sys::unique_fd socket, leash_host host);

  // Begins reading.
  void begin();
  // The sandbox is gone, or the leash object is: everybody who waits is told.
  void lose();
  void shut();

  async::task<result<pid_t>> spawn(spawn_request request);
  async::task<leader_end> wait_exited();
  async::task<void> wait_closed();
  async::task<std::vector<pid_t>> members();
  int survivors_of(const std::vector<pid_t>& pids) const;
  void signal(int number, signal_target target);

  const async::strand& strand() const { return strand_; }

 private:
  async::task<void> read_all();
  bool take(const incoming_message& message);
  bool take_started(const incoming_message& message);
  bool take_failure(const incoming_message& message);
  bool take_exited(const incoming_message& message);
  bool take_state(const incoming_message& message);
  void answer_spawn(result<pid_t> answer);
  void broken(std::string reason);
  async::task<result<void>> send(std::string text, std::vector<sys::unique_fd> fds);
  void send_small(sys::init_wire::message type, std::uint32_t serial, const void* part, std::size_t bytes);
  async::task<result<pid_t>> spawn_placed(spawn_request request);

  async::strand strand_;
  async::asio::posix::stream_descriptor socket_;
  leash_host host_;
  message_reader reader_;
  async::asio::steady_timer deadline_;
  bool spawning_ = false, spawned_ = false, lost_ = false;
  pid_t leader_ = 0;
  std::optional<result<pid_t>> spawn_answer_;
  std::optional<leader_end> end_;
  async::event spawn_answered_, exited_, closed_;
  std::uint32_t next_serial_ = 1;
  struct question {
    question() = default;
    async::event answered;
    std::vector<pid_t> pids;
  };
  std::map<std::uint32_t, std::shared_ptr<question>> questions_;
  int repeats_ = 0;
  async::task_group tasks_;
};

}  // namespace sbx::sandbox
