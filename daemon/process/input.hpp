// The daemon's end of what a job or terminal reads: nothing is buffered here.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "daemon/async/task_group.hpp"
#include "daemon/process/output_log.hpp"
#include "daemon/sys/fd.hpp"

namespace sbx::process {

enum class input_kind { pipe, terminal };

// Lives on its process's strand.
class input : public std::enable_shared_from_this<input> {
 public:
  // `to` does not block.
  input(async::strand strand, sys::unique_fd to, input_kind kind);

  // Answers how much was taken: all of it, or what there was room for within `wait`. In text whole characters only.
  // Error: io EPIPE when nobody reads any more or it was closed.
  async::task<result<std::size_t>> write(std::string data, reading how, std::chrono::milliseconds wait);

  // End-of-file for the command. Repeatable.
  void close();
  bool is_open() const { return target_.is_open(); }
  sys::fd_ref fd();

 private:
  result<std::size_t> write_now(std::string_view data, reading how);
  result<std::size_t> put(std::string_view data);
  result<std::size_t> put_characters(std::string_view data);
  bool settle_debt();
  async::task<void> wait_for_room();

  async::asio::posix::stream_descriptor target_;
  input_kind kind_;
  std::string owed_;  // the rest (at most 3 bytes) of a character that a terminal took in part
};

// The error of a write that nobody reads.
error nobody_reads();

}  // namespace sbx::process
