// Messages on their way to init: sent at once where there is room, else in order as room comes.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "daemon/async/task_group.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::sandbox {

// Lives on the strand of its socket, which outlives it, and whose owner it is a member of.
class message_sender {
 public:
  message_sender(async::asio::posix::stream_descriptor& socket, async::task_group& tasks)
      : socket_(socket), tasks_(tasks) {}

  // `owner` keeps all of this alive while a message waits. A socket that is gone takes no more and tells so by its
  // reader.
  void send(std::shared_ptr<void> owner, std::string bytes, std::vector<sys::unique_fd> fds = {});

  std::size_t waiting() const { return queue_.size(); }

 private:
  struct entry {
    entry(std::string bytes_, std::vector<sys::unique_fd> fds_) : bytes(std::move(bytes_)), fds(std::move(fds_)) {}
    std::string bytes;
    std::vector<sys::unique_fd> fds;
  };
  bool send_front();
  async::task<void> flush(std::shared_ptr<void> owner);

  async::asio::posix::stream_descriptor& socket_;
  async::task_group& tasks_;
  std::deque<entry> queue_;
};

}  // namespace sbx::sandbox
