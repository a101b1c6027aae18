// The images of one engine: found, pulled when absent, and what must be known of each read once.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/sandbox/backend.hpp"
#include "daemon/sandbox/engine.hpp"
#include "daemon/sandbox/image.hpp"

namespace sbx::sandbox {

class image_store {
 public:
  image_store(std::shared_ptr<engine> with, std::string label) : engine_(std::move(with)), label_(std::move(label)) {}

  // What `image` means now; pulled when it is not there. What an earlier call found is answered without asking the
  // engine: whoever starts a container compares the id it got, and calls forget() when it is another.
  async::task<result<std::shared_ptr<const image_info>>> resolve(std::vector<std::string> engine_args,
                                                                 std::string image, progress_fn progress);
  void forget(const std::vector<std::string>& engine_args, const std::string& image);

 private:
  using key = std::pair<std::vector<std::string>, std::string>;
  async::task<result<image_info>> inspect(std::vector<std::string> engine_args, std::string image);
  async::task<result<void>> pull(std::vector<std::string> engine_args, std::string image, progress_fn progress);
  async::task<result<void>> read_accounts(std::vector<std::string> engine_args, std::string image, image_info& info);

  std::shared_ptr<engine> engine_;
  std::string label_;
  std::map<key, std::shared_ptr<const image_info>> found_;
  std::map<std::string, std::pair<std::string, std::string>> accounts_;  // by id: passwd, group
};

}  // namespace sbx::sandbox
