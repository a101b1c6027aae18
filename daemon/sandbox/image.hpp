// What an engine says of an image, and what must be read out of it. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sbx::sandbox {

struct image_info {
  image_info() = default;
  std::string id, os, architecture, user;
  std::vector<std::string> env;  // "NAME=VALUE"
  std::string passwd, group;     // the image's own files; empty where it has none
};

// For `image inspect --format`, and what answers it: fields separated by NUL, for an env value may hold anything else.
extern const char* const image_format;
std::optional<image_info> parse_image(std::string_view answer);

// The first regular file of a tar stream; nothing when it is something else, or is cut.
std::optional<std::string> first_file_of_tar(std::string_view stream);

// An architecture as engines call it ("amd64") that this machine's kernel runs.
bool runs_here(std::string_view architecture, std::string_view machine);

// How far a pull is, out of what docker and podman print: layers done and layers known.
class pull_progress {
 public:
  // True when the numbers changed.
  bool add(std::string_view output);
  int done() const { return done_; }
  int total() const { return total_; }
  const std::string& last_line() const { return last_line_; }

 private:
  void add_line(std::string_view line);
  std::string rest_, last_line_;
  int done_ = 0, total_ = 0;
};

}  // namespace sbx::sandbox
