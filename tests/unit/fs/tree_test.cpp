#include <sys/mount.h>
#include <sys/socket.h>

#include <algorithm>

#include "tests/unit/fs/support.hpp"

using namespace sbx;
using namespace sbx::fs;
using namespace sbx::fs::test;

namespace {

// A chain of directories far longer than any path the kernel takes.
void make_chain(const std::string& top, int depth) {
  sys::unique_fd at(::open(top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int level = 0; level < depth; ++level) {
    REQUIRE(::mkdirat(at.get(), "d", 0777) == 0);
    at.reset(::openat(at.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(at);
  }
  const sys::unique_fd file(::openat(at.get(), "end", O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  REQUIRE(::write(file.get(), "needle\n", 7) == 7);
}

std::string chain_path(int depth) {
  std::string path;
  for (int level = 0; level < depth; ++level) path += "d/";
  return path + "end";
}

}  // namespace

TEST_CASE("tree: chains 10,000 deep are read, searched, copied, moved and removed") {
  world w(1, {}, "/dev/shm");  // some disks take a millisecond for each directory
  make_chain(w.root, 10'000);
  const std::string end = chain_path(10'000);
  CHECK(w.read(end)->data == "needle\n");
  CHECK(w.write(end, "needle 2\n")->path == end);
  const auto found = w.find("**/end");
  REQUIRE(found);
  CHECK(found->paths == std::vector<std::string>{end});
  grep_request search;
  search.pattern = "needle";
  const auto matches = grep(*w.roots, search, w.how);
  REQUIRE(matches);
  REQUIRE(matches->matches.size() == 1);
  CHECK(matches->matches[0].path == end);
  REQUIRE(w.copy("d", "copy"));
  CHECK(w.find("copy/**/end")->paths.size() == 1);
  REQUIRE(w.move("copy", "moved"));
  REQUIRE(w.remove("d", true));
  REQUIRE(w.remove("moved", true));
  CHECK(w.list("")->entries.empty());
}

TEST_CASE("tree: making directories") {
  world w;
  w.how.umask = 022;
  REQUIRE(w.mkdir("a"));
  struct stat status {};
  REQUIRE(::stat(w.in("a").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0755);
  CHECK(kind_of(w.mkdir("a")) == error_kind::conflict);
  CHECK(w.mkdir("a", true).has_value());
  CHECK(kind_of(w.mkdir("b/c")) == error_kind::not_found);
  CHECK(w.mkdir("b/c/", true).has_value());
  put(w.in("f"), "");
  CHECK(kind_of(w.mkdir("f")) == error_kind::conflict);
  CHECK(kind_of(w.mkdir("f", true)) == error_kind::conflict);
  CHECK(w.mkdir("f/x", true).error().number == ENOTDIR);
  CHECK(w.mkdir("new/").has_value());
  CHECK(w.mkdir(".", true).has_value());
  CHECK(kind_of(w.mkdir(".")) == error_kind::conflict);
}

TEST_CASE("tree: removing") {
  world w;
  std::filesystem::create_directories(w.in("a/b"));
  put(w.in("a/b/f"), "x");
  put(w.base / "outside", "x");
  REQUIRE(::symlink((w.base / "outside").c_str(), w.in("a/link").c_str()) == 0);
  REQUIRE(::symlink("..", w.in("a/up").c_str()) == 0);
  REQUIRE(::mkfifo(w.in("a/fifo").c_str(), 0666) == 0);
  CHECK(w.remove("a").error().number == ENOTEMPTY);
  CHECK(kind_of(w.remove("a")) == error_kind::io);
  CHECK(kind_of(w.remove("absent")) == error_kind::not_found);
  CHECK(kind_of(w.remove("absent", true)) == error_kind::not_found);
  CHECK(w.remove("a/b/.", true).error().number == EINVAL);
  CHECK(w.remove("a/b/f/").error().number == ENOTDIR);
  REQUIRE(w.remove("a/link/"));
  REQUIRE(w.remove("a/", true));
  CHECK_FALSE(is_there(w.in("a")));
  CHECK(is_there(w.base / "outside"));
  REQUIRE(w.mkdir("empty"));
  CHECK(w.remove("empty").has_value());
}

TEST_CASE("tree: moving and copying") {
  world w;
  std::filesystem::create_directories(w.in("a/b"));
  put(w.in("a/f"), "f");
  put(w.in("g"), "g");
  ::chmod(w.in("a/f").c_str(), 0755);
  ::chmod(w.in("a/b").c_str(), 0700);
  REQUIRE(::symlink("f", w.in("a/link").c_str()) == 0);
  REQUIRE(::link(w.in("a/f").c_str(), w.in("a/b/same").c_str()) == 0);
  CHECK(kind_of(w.copy("g", "a/f")) == error_kind::conflict);
  CHECK(kind_of(w.move("g", "a/f")) == error_kind::conflict);
  REQUIRE(w.copy("a", "copy"));
  struct stat one {
  }, other{};
  REQUIRE(::stat(w.in("copy/f").c_str(), &one) == 0);
  REQUIRE(::stat(w.in("copy/b/same").c_str(), &other) == 0);
  CHECK(one.st_ino == other.st_ino);
  CHECK((one.st_mode & 07777) == 0755);
  REQUIRE(::stat(w.in("copy/b").c_str(), &other) == 0);
  CHECK((other.st_mode & 07777) == 0700);
  CHECK(std::filesystem::read_symlink(w.in("copy/link")) == "f");
  CHECK(kind_of(w.copy("a", "copy")) == error_kind::conflict);
  CHECK(w.copy("a", "a/b/inside").error().number == EINVAL);
  CHECK(w.move("a", "a/b/inside").error().number == EINVAL);
  REQUIRE(w.copy("copy/link", "content"));
  CHECK(std::filesystem::is_regular_file(std::filesystem::symlink_status(w.in("content"))));
  REQUIRE(w.move("g", "content", true));
  CHECK(text_of(w.in("content")) == "g");
  CHECK(kind_of(w.move("absent", "x")) == error_kind::not_found);
  CHECK(kind_of(w.move("content", "x/y")) == error_kind::not_found);
  REQUIRE(w.move("copy", "there/"));
  CHECK(text_of(w.in("there/f")) == "f");
  CHECK(w.move("content", "there", true).error().number == EISDIR);
  CHECK(w.move("there", "content", true).error().number == ENOTDIR);
  CHECK(w.move("a", "there", true).error().number == ENOTEMPTY);
  CHECK(w.move("a", "a").error().kind == error_kind::conflict);
  CHECK(w.move("a", "a", true).has_value());
  REQUIRE(::mkfifo(w.in("a/fifo").c_str(), 0666) == 0);
  CHECK(kind_of(w.copy("a", "refused")) == error_kind::not_a_file);
  CHECK_FALSE(is_there(w.in("refused")));
  CHECK(kind_of(w.copy("a/fifo", "refused")) == error_kind::not_a_file);
  CHECK(names_of(*w.list("")) == std::vector<std::string>{"a", "content", "there"});
}

TEST_CASE("tree: two names of one file, moved onto each other, leave one") {
  world w;
  put(w.in("a"), "x");
  REQUIRE(::link(w.in("a").c_str(), w.in("b").c_str()) == 0);
  REQUIRE(w.move("a", "b", true));
  CHECK(names_of(*w.list("")) == std::vector<std::string>{"b"});
}

TEST_CASE("tree: moving across mounts") {
  if (::geteuid() != 0) return;
  world w;
  REQUIRE(::mkdir(w.in("m").c_str(), 0777) == 0);
  if (::mount("none", w.in("m").c_str(), "tmpfs", 0, "size=8m") != 0) {
    MESSAGE("skipped: a tmpfs can't be mounted here");
    return;
  }
  std::filesystem::create_directories(w.in("d/e"));
  put(w.in("d/e/f"), "x");
  ::chmod(w.in("d/e/f").c_str(), 0750);
  REQUIRE(::symlink("e/f", w.in("d/link").c_str()) == 0);
  CHECK(w.move("d", "m/d").has_value());
  CHECK_FALSE(is_there(w.in("d")));
  CHECK(text_of(w.in("m/d/link")) == "x");
  CHECK(w.move("m/d/e/f", "f").has_value());
  struct stat status {};
  CHECK(::stat(w.in("f").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0750);
  put(w.in("taken"), "taken");
  CHECK(kind_of(w.move("taken", "m/d")) == error_kind::conflict);
  CHECK(w.move("m/d/link", "link").has_value());
  CHECK(std::filesystem::is_symlink(w.in("link")));
  w.how.on_reactor = true;
  CHECK(would_block(w.write("m/x", "x").error()));
  w.how.on_reactor = false;
  CHECK(w.remove("m").error().number == EBUSY);
  ::umount2(w.in("m").c_str(), MNT_DETACH);
}

TEST_CASE("tree: moving across roots") {
  world w(2);
  put(w.in("f"), "x");
  const std::string second = w.base / "root1";
  REQUIRE(w.move("f", second + "/f"));
  CHECK(text_of(second + "/f") == "x");
  REQUIRE(w.copy(second + "/f", "back"));
  CHECK(text_of(w.in("back")) == "x");
  REQUIRE(w.copy(second, "whole"));
  CHECK(text_of(w.in("whole/f")) == "x");
}

TEST_CASE("tree: listing is sorted, paged and names are bytes") {
  world w;
  for (const std::string name : {"b", "a", "\xff\xfe", "-rf", "new\nline", "a:b", ".hidden", "\xc3\xa9"})
    put(w.in(name), "12");
  std::filesystem::create_directory(w.in("dir"));
  REQUIRE(::symlink("nowhere", w.in("link").c_str()) == 0);
  auto all = w.list("");
  REQUIRE(all);
  std::vector<std::string> names = names_of(*all);
  CHECK(names.size() == 10);
  CHECK(std::is_sorted(names.begin(), names.end()));
  CHECK_FALSE(all->next_cursor);
  for (const std::string& name : names) CHECK(stat_file(*w.roots, name, last_link::keep, w.how).has_value());
  std::vector<std::string> paged;
  list_request request;
  request.limit = 3;
  do {
    const auto page = list_directory(*w.roots, request, w.how);
    REQUIRE(page);
    CHECK(page->entries.size() <= 3);
    for (const list_entry& entry : page->entries) paged.push_back(entry.name);
    request.cursor = page->next_cursor.value_or("");
  } while (!request.cursor.empty());
  CHECK(paged == names);
  request.cursor = "bogus";
  CHECK(kind_of(list_directory(*w.roots, request, w.how)) == error_kind::invalid_params);
  CHECK(w.list("a").error().number == ENOTDIR);
}

TEST_CASE("tree: a whole copy keeps times, modes and links, and leaves special files out") {
  temp_dir from, to;
  std::filesystem::create_directories(from / "a/b");
  put(from / "a/f", "content");
  ::chmod((from / "a/b").c_str(), 0500);
  REQUIRE(::mkfifo((from / "fifo").c_str(), 0666) == 0);
  const timespec times[2] = {{1000, 0}, {2000, 5}};
  REQUIRE(::utimensat(AT_FDCWD, (from / "a/f").c_str(), times, 0) == 0);
  REQUIRE(::utimensat(AT_FDCWD, (from / "a").c_str(), times, 0) == 0);
  {
    const sys::unique_fd big(::open((from / "sparse").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
    REQUIRE(::pwrite(big.get(), "x", 1, 1 << 30) == 1);
  }
  const sys::unique_fd source(::open(from.path().c_str(), O_PATH | O_CLOEXEC));
  const sys::unique_fd target(::open(to.path().c_str(), O_PATH | O_CLOEXEC));
  const auto report = copy_tree(source, target, call());
  REQUIRE(report);
  CHECK(report->skipped_special == 1);
  CHECK(report->directories == 2);
  struct stat status {};
  REQUIRE(::stat((to / "a/f").c_str(), &status) == 0);
  CHECK(status.st_mtim.tv_sec == 2000);
  REQUIRE(::stat((to / "a").c_str(), &status) == 0);
  CHECK(status.st_mtim.tv_sec == 2000);
  REQUIRE(::stat((to / "sparse").c_str(), &status) == 0);
  CHECK(status.st_size == (1 << 30) + 1);
  CHECK(status.st_blocks < 1000);
  CHECK_FALSE(is_there(to / "fifo"));
}

TEST_CASE("tree: a long operation ends when it is told to") {
  world w;
  std::filesystem::create_directories(w.in("a/b"));
  w.how.stop.stop();
  CHECK(kind_of(w.copy("a", "b")) == error_kind::cancelled);
  CHECK(kind_of(w.remove("a", true)) == error_kind::cancelled);
  CHECK(kind_of(w.find("**")) == error_kind::cancelled);
}
