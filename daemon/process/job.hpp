// A command that outlives the call that started it.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "daemon/process/capture.hpp"
#include "daemon/process/recording.hpp"

namespace sbx::process {

enum class stream_layout { merged, split };

struct job_request {
  job_request() = default;
  process::command command;
  bool keep_stdin = false;  // else its stdin is empty
  stream_layout streams = stream_layout::merged;
  std::size_t retain_bytes = 1u << 20;  // of each log
  retain_rule retain = retain_rule::tail;
  std::optional<std::chrono::milliseconds> timeout;
  std::chrono::milliseconds grace{2000};
};

// What was not collected yet of one stream.
struct collected {
  collected() = default;
  std::string data;
  std::int64_t dropped_bytes = 0;
  bool truncated = false;  // bytes were lost
  bool more = false;       // bytes are left
};

class job final : public recording {
 public:
  // Errors: spawn_failed, denied, sandbox_lost. Nothing of it runs then.
  static async::task<result<std::shared_ptr<job>>> start(std::shared_ptr<sandbox::sandbox> box, async::strand strand,
                                                         job_request request);

  // A command that goes on as a job: its output so far is in the logs, and up to `collected_*` with its client.
  struct adopted {
    adopted() = default;
    std::shared_ptr<process_tree> process;
    std::shared_ptr<output_log> out, err;
    std::int64_t collected_out = 0, collected_err = 0;
    std::chrono::milliseconds grace{2000};
  };
  static std::shared_ptr<job> adopt(adopted from);

  // Consuming: each byte is answered once.
  collected collect(stream_id stream, std::size_t max_bytes, reading how);
  // Closed, and all of it collected: it can be forgotten.
  bool delivered() const;

  // As recording::write; with `eof` its stdin is closed when all of `data` was taken.
  enum class after_write { keep_open, close };
  async::task<result<std::size_t>> write_then(std::string data, reading how, std::chrono::milliseconds wait,
                                              after_write then);

 private:
  job(std::shared_ptr<process_tree> process, std::shared_ptr<output_log> out, std::shared_ptr<output_log> err,
      std::chrono::milliseconds grace);

  std::int64_t collected_[2] = {0, 0};
};

}  // namespace sbx::process
