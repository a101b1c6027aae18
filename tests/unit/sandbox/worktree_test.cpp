#include "daemon/sandbox/worktree.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>

#include <algorithm>
#include <fstream>

#include "tests/unit/sandbox/temporary_directory.hpp"

namespace sbx::sandbox {
namespace {

namespace filesystem = std::filesystem;

// A repository at main/.git and its worktree at tree, as git itself lays them out.
class repository {
 public:
  repository() {
    for (const char* directory :
         {"main/.git/objects", "main/.git/refs", "main/.git/hooks", "main/.git/worktrees/tree", "tree"})
      filesystem::create_directories(here.path() / directory);
    write("main/.git/HEAD", "ref: refs/heads/main\n");
    write("main/.git/config", "[core]\n");
    write("main/.git/worktrees/tree/commondir", "../..\n");
    write("main/.git/worktrees/tree/gitdir", (here.path() / "tree/.git\n").string());
    write("tree/.git", "gitdir: " + (here.path() / "main/.git/worktrees/tree\n").string());
  }

  void write(const std::string& path, const std::string& content) { std::ofstream(here.path() / path) << content; }

  std::vector<extra_bind> binds_of(std::initializer_list<const char*> roots) const {
    spec wanted;
    for (const char* name : roots) {
      root_spec root;
      root.path = (here.path() / name).string();
      root.fd = std::make_shared<sys::unique_fd>(::open(root.path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
      wanted.roots.push_back(std::move(root));
    }
    return find_worktree_binds(wanted);
  }

  temporary_directory here;
};

std::string name_of(extra_bind::kind what) {
  switch (what) {
    case extra_bind::kind::writable:
      return "rw";
    case extra_bind::kind::read_only:
      return "ro";
    case extra_bind::kind::empty_file:
      return "file";
    case extra_bind::kind::empty_directory:
      return "dir";
  }
  return "?";
}

TEST_CASE("worktree: the common directory is writable but for what the host's git would obey") {
  const repository made;
  std::string text;
  for (const auto& bind : made.binds_of({"tree"})) {
    CHECK((bind.fd != nullptr) ==
          (bind.what == extra_bind::kind::writable || bind.what == extra_bind::kind::read_only));
    text += name_of(bind.what) + bind.path.substr(made.here.path().string().size()) + "\n";
  }
  CHECK(text ==
        "rw/main/.git\nro/main/.git/config\nfile/main/.git/config.worktree\nro/main/.git/hooks\ndir/main/.git/info\n"
        "dir/main/.git/modules\nro/main/.git/worktrees\nrw/main/.git/worktrees/tree\n"
        "file/main/.git/worktrees/tree/config.worktree\nro/main/.git/worktrees/tree/commondir\n"
        "ro/main/.git/worktrees/tree/gitdir\n");
}

TEST_CASE("worktree: relative names, as newer git writes them") {
  repository made;
  made.write("tree/.git", "gitdir: ../main/.git/worktrees/tree\n");
  made.write("main/.git/worktrees/tree/gitdir", "../../../../tree/.git\n");
  CHECK_FALSE(made.binds_of({"tree"}).empty());
}

TEST_CASE("worktree: a forged .git mounts nothing") {
  repository made;
  filesystem::create_directories(made.here.path() / "forged/sub");
  made.write("forged/.git", "gitdir: " + (made.here.path() / "main/.git/worktrees/tree").string());
  CHECK(made.binds_of({"forged"}).empty());
  made.write("forged/.git", "gitdir: /etc");
  CHECK(made.binds_of({"forged"}).empty());
  made.write("forged/.git", "gitdir: " + std::string(6000, 'x'));
  CHECK(made.binds_of({"forged"}).empty());
  made.write("forged/.git", "");
  CHECK(made.binds_of({"forged"}).empty());
}

TEST_CASE("worktree: a root cannot name itself as the git directory") {
  repository made;
  const auto root = made.here.path() / "main2/worktrees/tree";
  filesystem::create_directories(root);
  for (const char* name : {"objects", "refs"}) filesystem::create_directories(made.here.path() / "main2" / name);
  made.write("main2/HEAD", "x");
  made.write("main2/worktrees/tree/.git", "gitdir: " + root.string());
  made.write("main2/worktrees/tree/gitdir", (root / ".git").string());
  made.write("main2/worktrees/tree/commondir", "../..");
  CHECK(made.binds_of({"main2/worktrees/tree"}).empty());
}

TEST_CASE("worktree: a .git that is a link, or a protected entry that is one, is not followed") {
  repository linked;
  filesystem::rename(linked.here.path() / "tree/.git", linked.here.path() / "real");
  filesystem::create_symlink("../real", linked.here.path() / "tree/.git");
  CHECK(linked.binds_of({"tree"}).empty());

  repository hooked;
  filesystem::remove(hooked.here.path() / "main/.git/hooks");
  filesystem::create_directory_symlink("/tmp", hooked.here.path() / "main/.git/hooks");
  CHECK(hooked.binds_of({"tree"}).empty());
}

TEST_CASE("worktree: another owner's git directory is left alone") {
  if (::geteuid() != 0) return;
  const repository made;
  REQUIRE(::chown((made.here.path() / "main/.git").c_str(), 12345, 12345) == 0);
  CHECK(made.binds_of({"tree"}).empty());
}

TEST_CASE("worktree: a repository that is a root itself needs nothing more") {
  const repository made;
  CHECK(made.binds_of({"main", "tree"}).empty());
}

TEST_CASE("worktree: an ordinary checkout adds nothing") {
  const repository made;
  CHECK(made.binds_of({"main"}).empty());
}

}  // namespace
}  // namespace sbx::sandbox
