#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>
#include <thread>

#include "tests/unit/fs/support.hpp"

using namespace sbx;
using namespace sbx::fs;
using namespace sbx::fs::test;

namespace {

mode_t mode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::lstat(path.c_str(), &status) == 0);
  return status.st_mode & 07777;
}

ino_t inode_of(const std::string& path) {
  struct stat status {};
  REQUIRE(::stat(path.c_str(), &status) == 0);
  return status.st_ino;
}

}  // namespace

TEST_CASE("write: makes files and their directories with the user's umask") {
  world w;
  w.how.umask = 027;
  const auto made = w.write("a/b/c", "x");
  REQUIRE(made);
  CHECK(made->created);
  CHECK(made->path == "a/b/c");
  CHECK(made->bytes == 1);
  CHECK(text_of(w.in("a/b/c")) == "x");
  CHECK(mode_of(w.in("a/b/c")) == 0640);
  CHECK(mode_of(w.in("a/b")) == 0750);
  CHECK_FALSE(w.write("a/b/c", "y")->created);
  write_request request;
  request.path = "q/r";
  request.parents = false;
  CHECK(kind_of(write_file(*w.roots, request, w.how)) == error_kind::not_found);
  CHECK_FALSE(is_there(w.in("q")));
  request.path = "mode";
  request.mode = 0777;
  REQUIRE(write_file(*w.roots, request, w.how));
  CHECK(mode_of(w.in("mode")) == 0777);
}

TEST_CASE("write: keeps mode, owner, hard links and links") {
  world w;
  put(w.in("f"), "old content");
  ::chmod(w.in("f").c_str(), 0751);
  if (::geteuid() == 0) REQUIRE(::chown(w.in("f").c_str(), 12345, 23456) == 0);
  const ino_t before = inode_of(w.in("f"));
  REQUIRE(w.write("f", "new"));
  CHECK(inode_of(w.in("f")) != before);  // by rename
  CHECK(mode_of(w.in("f")) == 0751);
  struct stat status {};
  REQUIRE(::stat(w.in("f").c_str(), &status) == 0);
  if (::geteuid() == 0) CHECK(status.st_uid == 12345);
  if (::geteuid() == 0) CHECK(status.st_gid == 23456);
  REQUIRE(::link(w.in("f").c_str(), w.in("second").c_str()) == 0);
  REQUIRE(w.write("second", "both"));
  CHECK(text_of(w.in("f")) == "both");
  CHECK(inode_of(w.in("f")) == inode_of(w.in("second")));
  REQUIRE(::symlink("f", w.in("link").c_str()) == 0);
  REQUIRE(::symlink((w.root + "/fresh").c_str(), w.in("dangling").c_str()) == 0);
  CHECK(w.write("link", "through")->path == "f");
  CHECK(text_of(w.in("f")) == "through");
  CHECK(w.write("dangling", "made")->path == "fresh");
  CHECK(text_of(w.in("fresh")) == "made");
}

TEST_CASE("write: conditions, append") {
  world w;
  write_request request;
  request.path = "f";
  request.data = "1";
  request.if_absent = true;
  REQUIRE(write_file(*w.roots, request, w.how));
  CHECK(kind_of(write_file(*w.roots, request, w.how)) == error_kind::conflict);
  request.if_absent = false;
  request.append = true;
  request.data = "23";
  CHECK(write_file(*w.roots, request, w.how)->bytes == 2);
  CHECK(text_of(w.in("f")) == "123");
  request.path = "new";
  CHECK(write_file(*w.roots, request, w.how)->created);
  request.append = false;
  request.if_match = w.read("f")->etag;
  request.path = "f";
  request.data = "4";
  const auto matched = write_file(*w.roots, request, w.how);
  REQUIRE(matched);
  request.if_match = matched->etag;
  request.data = "5";
  CHECK(write_file(*w.roots, request, w.how).has_value());
  CHECK(kind_of(write_file(*w.roots, request, w.how)) == error_kind::conflict);
  request.path = "absent";
  CHECK(kind_of(write_file(*w.roots, request, w.how)) == error_kind::conflict);
  CHECK_FALSE(is_there(w.in("absent")));
  CHECK(kind_of(w.write("f/x", "x")) == error_kind::io);
  CHECK_FALSE(w.write("d/", "x"));
}

TEST_CASE("write: of two that both match one etag only one is done") {
  world w;
  for (int round = 0; round < 50; ++round) {
    REQUIRE(w.write("f", std::to_string(round)));
    const std::string etag = w.read("f")->etag;
    std::atomic<int> done = 0;
    const auto attempt = [&](const std::string& data) {
      write_request request;
      request.path = "f";
      request.data = data;
      request.if_match = etag;
      if (write_file(*w.roots, request, w.how)) ++done;
    };
    std::thread other(attempt, "other");
    attempt("mine");
    other.join();
    CHECK(done == 1);
  }
}

TEST_CASE("write: killed in the middle, the old content stays and nothing lies about") {
  world w;
  put(w.in("f"), "old");
  const std::string large(64 << 20, 'x');
  for (int round = 0; round < 10; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      (void)w.write("f", large);
      ::_exit(0);
    }
    ::usleep(static_cast<useconds_t>(2000 + round * 1500));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status)) {
      put(w.in("f"), "old");
      continue;
    }
    const std::string now = text_of(w.in("f"));
    CHECK((now == "old" || now == large));
    if (now != "old") put(w.in("f"), "old");
    CHECK(names_of(*w.list("")) == std::vector<std::string>{"f"});
  }
}

TEST_CASE("write: no room leaves the old content, by rename and in place") {
  if (::geteuid() != 0) return;
  temp_dir base;
  const std::string mounted = base / "small";
  ::mkdir(mounted.c_str(), 0777);
  if (::mount("none", mounted.c_str(), "tmpfs", 0, "size=1m") != 0) {
    MESSAGE("skipped: a tmpfs can't be mounted here");
    return;
  }
  {
    auto roots = root_set::open({mounted});
    REQUIRE(roots);
    put(mounted + "/f", "old");
    put(mounted + "/g", "old");
    REQUIRE(::link((mounted + "/g").c_str(), (mounted + "/h").c_str()) == 0);
    write_request request;
    request.data = std::string(4 << 20, 'x');
    for (const std::string name : {"f", "g"}) {
      for (const bool append : {false, true}) {
        request.path = name;
        request.append = append;
        const auto refused = write_file(*roots, request, call());
        REQUIRE_FALSE(refused);
        CHECK(refused.error().number == ENOSPC);
        CHECK(text_of(mounted + "/" + name) == "old");
      }
    }
    list_request all;
    CHECK(names_of(*list_directory(*roots, all, call())) == std::vector<std::string>{"f", "g", "h"});
  }
  ::umount2(mounted.c_str(), MNT_DETACH);
}

TEST_CASE("write: many at once leave one whole content") {
  world w;
  std::vector<std::thread> writers;
  for (int index = 0; index < 8; ++index) {
    writers.emplace_back([&, index] {
      for (int round = 0; round < 100; ++round)
        REQUIRE(w.write("f", std::string(5000, static_cast<char>('a' + index))));
    });
  }
  for (auto& writer : writers) writer.join();
  const std::string text = text_of(w.in("f"));
  CHECK(text == std::string(5000, text[0]));
}

TEST_CASE("open: a descriptor of the file itself") {
  world w;
  w.how.umask = 022;
  CHECK(kind_of(w.open("f", open_mode::write)) == error_kind::not_found);
  {
    const auto fd = w.open("f", open_mode::read_write, true);
    REQUIRE(fd);
    REQUIRE(::write(fd->get(), "abc", 3) == 3);
  }
  CHECK(text_of(w.in("f")) == "abc");
  CHECK(mode_of(w.in("f")) == 0644);
  {
    const auto fd = w.open("f", open_mode::append);
    REQUIRE(::write(fd->get(), "d", 1) == 1);
  }
  CHECK(text_of(w.in("f")) == "abcd");
  CHECK(w.open("f", open_mode::write).has_value());
  CHECK(text_of(w.in("f")).empty());
}
