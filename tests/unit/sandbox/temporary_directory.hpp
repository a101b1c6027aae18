// A directory of a test's own, removed with it.
#pragma once

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace sbx::sandbox {

class temporary_directory {
 public:
  explicit temporary_directory(const std::string& beneath = "/tmp") {
    std::string pattern = beneath + "/sbx-test-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary directory beneath " + beneath);
    ::chmod(pattern.c_str(), 0755);
    path_ = pattern;
  }
  ~temporary_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  temporary_directory(const temporary_directory&) = delete;
  temporary_directory& operator=(const temporary_directory&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace sbx::sandbox
