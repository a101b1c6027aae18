// What the file verbs share: which workspace, and what a path given on the command line means in it.
#pragma once

#include <optional>
#include <string>

#include "client/app.hpp"
#include "client/common_options.hpp"
#include "client/verbs.hpp"
#include "proto/methods/fs.hpp"

namespace sbx::client {

class file_place {
 public:
  void describe(options& o) { where_.describe(o); }
  outcome<void> find(app& a);

  const std::string& workspace() const { return entry_.workspace; }
  // Absolute ones stay; others are meant from the current directory where the workspace holds it, else from the first
  // root.
  std::string resolve(const std::string& path) const;

  template <class Params>
  Params on(const std::string& path) const {
    Params params;
    params.workspace = workspace();
    params.path = resolve(path);
    return params;
  }

  // What a path names; nullopt when nothing.
  outcome<std::optional<proto::fs_stat_result>> stat(app& a, const std::string& path) const;
  // `to`, or the same name within it when it is a directory (as cp and mv take it).
  outcome<std::string> target(app& a, const std::string& from, const std::string& to) const;

 private:
  where_options where_;
  proto::workspace_entry entry_;
};

std::string base_name(const std::string& path);

// Verbs that stream whole files by descriptor.
void add_transfer_verbs(std::vector<verb>& to);

}  // namespace sbx::client
