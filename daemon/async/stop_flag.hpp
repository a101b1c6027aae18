// A word to a running job: nobody wants its answer any more. No asio here: plain functions take one too.
#pragma once

#include <atomic>
#include <memory>

namespace sbx::async {

// Copies are the same flag. Long jobs look between chunks.
class stop_flag {
 public:
  bool stopped() const noexcept { return stopped_->load(std::memory_order_relaxed); }
  void stop() noexcept { stopped_->store(true, std::memory_order_relaxed); }

 private:
  std::shared_ptr<std::atomic<bool>> stopped_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace sbx::async
