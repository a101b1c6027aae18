// A workspace of one or more temporary directories, and shorthands over the operations.
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "daemon/fs/copy_tree.hpp"
#include "daemon/fs/file_ops.hpp"
#include "daemon/sys/beneath.hpp"

namespace sbx::fs::test {

class temp_dir {
 public:
  explicit temp_dir(const std::string& parent = std::filesystem::temp_directory_path()) {
    std::string name = std::filesystem::canonical(parent).string() + "/sbx-fs-XXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  temp_dir(const temp_dir&) = delete;
  temp_dir& operator=(const temp_dir&) = delete;
  ~temp_dir() {
    const sys::unique_fd fd(::open(path_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (fd) (void)remove_contents(fd, call());
    ::rmdir(path_.c_str());
  }
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline void put(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline bool is_there(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

// A directory `base` with the root(s) in it and room for things outside of them.
struct world {
  explicit world(int count = 1, policy rules = {}, const std::string& parent = std::filesystem::temp_directory_path())
      : base(parent) {
    std::vector<std::string> paths;
    for (int index = 0; index < count; ++index) {
      paths.push_back(base / ("root" + std::to_string(index)));
      std::filesystem::create_directory(paths.back());
    }
    root = paths.front();
    auto opened = root_set::open(paths, std::move(rules));
    REQUIRE(opened);
    roots = std::make_shared<const root_set>(std::move(*opened));
  }
  std::string in(const std::string& name) const { return root + "/" + name; }

  result<read_reply> read(const std::string& path) const {
    read_request request;
    request.path = path;
    return read_file(*roots, request, how);
  }
  result<write_reply> write(const std::string& path, const std::string& data) const {
    write_request request;
    request.path = path;
    request.data = data;
    return write_file(*roots, request, how);
  }
  result<edit_reply> edit(const std::string& path, const std::string& from, const std::string& to,
                          bool all = false) const {
    edit_request request;
    request.path = path;
    request.edits.emplace_back(from, to, all);
    return edit_file(*roots, request, how);
  }
  result<void> mkdir(const std::string& path, bool parents = false) const {
    mkdir_request request;
    request.path = path;
    request.parents = parents;
    return make_directory(*roots, request, how);
  }
  result<void> remove(const std::string& path, bool recursive = false) const {
    remove_request request;
    request.path = path;
    request.recursive = recursive;
    return remove_path(*roots, request, how);
  }
  result<void> move(const std::string& path, const std::string& to, bool overwrite = false) const {
    return move_path(*roots, transfer(path, to, overwrite), how);
  }
  result<void> copy(const std::string& path, const std::string& to, bool overwrite = false) const {
    return copy_path(*roots, transfer(path, to, overwrite), how);
  }
  result<list_reply> list(const std::string& path) const {
    list_request request;
    request.path = path;
    return list_directory(*roots, request, how);
  }
  result<glob_reply> find(const std::string& pattern, bool hidden = false) const {
    glob_request request;
    request.pattern = pattern;
    request.hidden = hidden;
    return glob(*roots, request, how);
  }
  result<sys::unique_fd> open(const std::string& path, open_mode mode, bool create = false) const {
    open_request request;
    request.path = path;
    request.mode = mode;
    request.create = create;
    return open_file(*roots, request, how);
  }
  static transfer_request transfer(const std::string& path, const std::string& to, bool overwrite) {
    transfer_request request;
    request.path = path;
    request.to = to;
    request.overwrite = overwrite;
    return request;
  }

  temp_dir base;
  std::string root;
  std::shared_ptr<const root_set> roots;
  call how;
};

template <class T>
error_kind kind_of(const result<T>& outcome) {
  REQUIRE_FALSE(outcome);
  return outcome.error().kind;
}

inline std::vector<std::string> names_of(const list_reply& reply) {
  std::vector<std::string> names;
  for (const list_entry& entry : reply.entries) names.push_back(entry.name);
  return names;
}

}  // namespace sbx::fs::test
