// What the host's file tree looks like, as far as the walls of a sandbox depend on it. Read fresh for each launch.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace sbx::sandbox {

// One entry of the host that a sandbox shows: a link to make, or a file or directory to bind read-only.
struct host_entry {
  host_entry() = default;
  host_entry(std::string path_, std::string source_, std::string link_ = {})
      : path(std::move(path_)), source(std::move(source_)), link(std::move(link_)) {}
  std::string path;    // inside
  std::string source;  // on the host; empty for a link
  std::string link;    // the link's text; empty for a bind
};

// The user a sandbox runs as, by the host's databases.
struct host_identity {
  host_identity() = default;
  uid_t uid = 0;
  gid_t gid = 0;
  std::string user, group, home;
};

struct host_facts {
  host_facts() = default;
  std::vector<host_entry> system;        // /usr, and /bin, /lib64, … as links or directories
  std::vector<host_entry> etc;           // what programs need of /etc
  std::vector<std::string> proc_frozen;  // entries of /proc that are bound over read-only
  std::vector<std::string> proc_hidden;  // entries of /proc that are covered by /dev/null
  std::string resolv_conf, hosts;        // contents, links followed
  bool has_bash = false;
  host_identity identity;  // not read here: looked up once, read_host_identity()
};

// Looks at the tree beneath `base` ("" is the host itself; tests pass a tree of their own). Blocks for a few dozen
// lstat calls on the root filesystem. What is missing is left out.
host_facts read_host_facts(const std::string& base = {});

// The calling process's effective user. A user without an entry is called "user", with "/home/user" as home.
host_identity read_host_identity();

}  // namespace sbx::sandbox
