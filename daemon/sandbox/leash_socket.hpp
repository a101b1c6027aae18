// One command's leash over its socket: the implementation behind sandbox::leash.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
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
#include "daemon/sandbox/message_sender.hpp"
#include "daemon/sys/init_wire.hpp"

namespace sbx::sandbox {

// What a leash wants from the link it came from. Callable from any thread.
struct leash_host {
  leash_host() = default;
  std::function<async::task<bool>()> enter_spawn;  // waits for one of the places; false: the sandbox has ended
  std::function<void()> leave_spawn;
  std::function<void()> owner_gone;                 // nobody waits for this command any more
  std::function<void(std::string reason)> give_up;  // init broke the protocol: the sandbox ends
  std::function<async::task<void>()> wait_gone;     // after its end was ordered: nothing of the sandbox is left
  std::function<bool()> has_ended;
  std::chrono::milliseconds answer_timeout{10'000};
  std::optional<std::chrono::milliseconds>
      end_timeout;  // from end() to the sandbox's own end; none: it may take for ever
};

// The state that outlives the leash object until its socket's reader has ended. Lives on its strand.
class leash_socket : public std::enable_shared_from_this<leash_socket> {
 public:
  leash_socket(async::strand strand, sys::unique_fd socket, leash_host host);

  // Begins reading. The reader stays until end-of-file, which may come long after everybody else has lost interest.
  void begin();
  // Nothing will come any more, or nobody cares: everybody who waits is told.
  void lose();
  // The order to end the tree; end() also watches that it does in time.
  void shut();
  void end();
  // The owner is gone: end, and lose what still comes.
  void abandon();

  async::task<result<pid_t>> spawn(spawn_request request);
  async::task<leader_end> wait_exited();
  async::task<void> wait_closed();
  async::task<std::vector<pid_t>> members();
  int survivors_of(const std::vector<pid_t>& pids) const;
  void signal(int number, signal_target target);

  const async::strand& strand() const { return strand_; }

 private:
  async::task<void> read_all();
  async::task<void> serve();
  bool take(const incoming_message& message);
  bool take_started(const incoming_message& message);
  bool take_failure(const incoming_message& message);
  bool take_exited(const incoming_message& message);
  bool take_state(const incoming_message& message);
  void answer_spawn(result<pid_t> answer);
  void broken(std::string reason);
  async::task<result<void>> send(std::string text, std::vector<sys::unique_fd> fds);
  bool repeated();
  bool told_failure() const;
  void set_closed();
  bool send_small(sys::init_wire::message type, std::uint32_t serial, const void* part, std::size_t bytes);
  async::task<result<pid_t>> spawn_placed(spawn_request request);

  async::strand strand_;
  async::asio::posix::stream_descriptor socket_;
  leash_host host_;
  message_reader reader_;
  async::asio::steady_timer deadline_, end_deadline_;
  bool spawned_ = false, lost_ = false, told_end_ = false;
  bool empty_ = false;  // the tree, or nobody holds the inner end any more
  int ignored_ = 0;
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
  message_sender sender_;
};

}  // namespace sbx::sandbox
