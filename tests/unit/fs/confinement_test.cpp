#include <sys/wait.h>

#include <atomic>
#include <thread>

#include "tests/unit/fs/support.hpp"

using namespace sbx;
using namespace sbx::fs;
using namespace sbx::fs::test;

namespace {

// Everything that could touch `path`, each answer's kind; none may succeed.
std::vector<error_kind> try_everything(const world& w, const std::string& path) {
  put(w.in("mine"), "mine");
  std::vector<error_kind> kinds{
      kind_of(w.read(path)),
      kind_of(w.write(path, "x")),
      kind_of(w.edit(path, "secret", "x")),
      kind_of(w.list(path)),
      kind_of(w.copy("mine", path, true)),
      kind_of(w.copy(path, "taken")),
      kind_of(stat_file(*w.roots, path, last_link::follow, w.how)),
      kind_of(w.open(path, open_mode::read)),
      kind_of(w.open(path, open_mode::write, true)),
      kind_of(w.mkdir(path, true)),
      kind_of(resolve_start_directory(*w.roots, path, w.how)),
      kind_of(locate(*w.roots, path, last_link::follow, w.how)),
  };
  glob_request find;
  find.pattern = "*";
  find.path = path;
  kinds.push_back(kind_of(glob(*w.roots, find, w.how)));
  grep_request search;
  search.pattern = "secret";
  search.path = path;
  kinds.push_back(kind_of(grep(*w.roots, search, w.how)));
  return kinds;
}

void link(const std::string& target, const std::string& name) {
  REQUIRE(::symlink(target.c_str(), name.c_str()) == 0);
}

}  // namespace

TEST_CASE("confinement: whatever leads outside is denied, there or not") {
  world w;
  const std::string outside = w.root + "-sibling";
  std::filesystem::create_directory(outside);
  put(outside + "/file", "secret");
  std::filesystem::create_directory(w.in("sub"));
  link(outside, w.in("dir"));
  link(outside + "/file", w.in("file"));
  link(outside + "/absent", w.in("dangling"));
  link("../root0-sibling/file", w.in("relative"));
  link("dir/file", w.in("chain"));
  link("/proc/self/root", w.in("magic"));
  link("/proc/self/cwd", w.in("cwd"));
  link("sub/../../root0-sibling/file", w.in("through"));
  link(w.root + "/../root0-sibling/file", w.in("absolute"));
  link(w.root + "-sibling/file", w.in("prefix"));
  const std::string hidden = w.base / "root0";
  for (const std::string path : {"dir",
                                 "dir/file",
                                 "dir/absent",
                                 "file",
                                 "dangling",
                                 "relative",
                                 "chain",
                                 "magic",
                                 "magic/etc/passwd",
                                 "magic/etc/absent",
                                 "cwd",
                                 "through",
                                 "absolute",
                                 "prefix",
                                 "..",
                                 "../",
                                 "../root0",
                                 "../root0/mine",
                                 "../root0-sibling/file",
                                 "sub/../../root0/mine",
                                 "/",
                                 "/etc/passwd",
                                 "/etc/absent",
                                 "//etc/passwd"}) {
    CAPTURE(path);
    for (const error_kind kind : try_everything(w, path)) CHECK(kind == error_kind::denied);
  }
  for (const std::string& path : {outside + "/file", "/" + w.root, w.base / "./root0/mine",
                                  w.base / "root0-sibling/../root0/mine", w.root + "/../root0/mine"}) {
    CAPTURE(path);
    for (const error_kind kind : try_everything(w, path)) CHECK(kind == error_kind::denied);
  }
  for (const std::string path : {"dir/file", "dir/absent", "../root0-sibling/file", "/etc/passwd"}) {
    CAPTURE(path);
    CHECK(kind_of(w.remove(path, true)) == error_kind::denied);
    CHECK(kind_of(w.move("mine", path, true)) == error_kind::denied);
    CHECK(kind_of(w.move(path, "taken", true)) == error_kind::denied);
    CHECK(kind_of(w.mkdir(path)) == error_kind::denied);
  }
  // Existing or not: the same words.
  CHECK(w.read("dir/file").error().message == w.read("dir/absent").error().message);
  CHECK(w.read("file").error().message == w.read("dangling").error().message);
  CHECK(text_of(outside + "/file") == "secret");
  CHECK(std::distance(std::filesystem::directory_iterator(outside), {}) == 1);
  // A link is a name of the workspace: it may be moved and removed itself.
  REQUIRE(w.move("file", "moved"));
  CHECK(std::filesystem::is_symlink(w.in("moved")));
  REQUIRE(w.remove("moved"));
  REQUIRE(w.move("mine", "dangling", true));
  CHECK(text_of(w.in("dangling")) == "mine");
  CHECK(kind_of(w.mkdir("dangling")) == error_kind::conflict);
  CHECK_FALSE(is_there(outside + "/absent"));
}

TEST_CASE("confinement: what stays inside works, by links and dots too") {
  world w(2);
  const std::string second = w.base / "root1";
  std::filesystem::create_directories(w.in("a/b"));
  put(w.in("a/b/f"), "inside");
  put(second + "/g", "other");
  link("b/f", w.in("a/short"));
  link(w.root + "/a/b", w.in("absolute"));
  link(second, w.in("across"));
  link("a/b/../../a/./short", w.in("dotted"));
  for (const std::string path : {"a/b/f", "a/short", "absolute/f", "dotted", "a/../a/b/f", "./a//b/./f"}) {
    CAPTURE(path);
    const auto got = w.read(path);
    REQUIRE(got);
    CHECK(got->data == "inside");
    CHECK(w.read(w.root + "/" + path)->data == "inside");
  }
  CHECK(w.read("across/g")->data == "other");
  CHECK(w.read(second + "/g")->data == "other");
  CHECK(kind_of(w.read(second + "/../root0/a/b/f")) == error_kind::denied);
  CHECK(kind_of(w.read("across/../a/b/f")) == error_kind::denied);
  CHECK(w.write("across/made", "x")->path == second + "/made");
  CHECK(w.read(w.write("across/made", "x")->path)->data == "x");
  CHECK(w.write("absolute/made", "x")->path == "a/b/made");
  CHECK(kind_of(w.read("a/b/f/")) == error_kind::io);
  CHECK(kind_of(w.read("a/missing/../b/f")) == error_kind::not_found);
  CHECK(resolve_start_directory(*w.roots, "absolute", w.how)->path == w.root + "/a/b");
  CHECK(resolve_start_directory(*w.roots, "", w.how)->path == w.root);
  CHECK(resolve_start_directory(*w.roots, "across", w.how)->root == second);
  CHECK(resolve_start_directory(*w.roots, "a/b/f", w.how).error().number == ENOTDIR);
  CHECK(locate(*w.roots, "absolute/x/y", last_link::follow, w.how)->relative == "a/b/x/y");
  CHECK(kind_of(locate(*w.roots, "absolute/x/../..", last_link::follow, w.how)) == error_kind::not_found);
}

TEST_CASE("confinement: loops, long chains and broken paths are errors, not hangs") {
  world w;
  link("loop", w.in("loop"));
  link("ping", w.in("pong"));
  link("pong", w.in("ping"));
  CHECK(w.read("loop").error().number == ELOOP);
  CHECK(w.read("ping/x").error().number == ELOOP);
  put(w.in("end"), "end");
  link("end", w.in("l0"));
  for (int index = 1; index < 60; ++index) link("l" + std::to_string(index - 1), w.in("l" + std::to_string(index)));
  CHECK(w.read("l39")->data == "end");
  CHECK(w.read("l59").error().number == ELOOP);
  CHECK(kind_of(w.read("")) == error_kind::invalid_params);
  CHECK(kind_of(w.read(std::string("a\0b", 3))) == error_kind::invalid_params);
  CHECK(w.read(std::string(300, 'n')).error().number == ENAMETOOLONG);
  CHECK(kind_of(w.write("", "x")) == error_kind::invalid_params);
  CHECK(kind_of(w.write(".", "x")) == error_kind::not_a_file);
  CHECK(kind_of(w.remove(".")) == error_kind::denied);
  CHECK(kind_of(w.remove(w.root, true)) == error_kind::denied);
  CHECK(kind_of(w.move(w.root, "x")) == error_kind::denied);
  CHECK(w.list("").has_value());
  CHECK(w.list(".").has_value());
}

TEST_CASE("confinement: a root that was deleted, moved or replaced is gone, whatever is there now") {
  {
    world w;
    put(w.in("f"), "x");
    REQUIRE(::rename(w.root.c_str(), (w.root + "-moved").c_str()) == 0);
    CHECK(kind_of(w.read("f")) == error_kind::root_gone);
    CHECK(kind_of(w.roots->check_present()) == error_kind::root_gone);
    REQUIRE(::mkdir(w.root.c_str(), 0777) == 0);
    put(w.in("f"), "other");
    CHECK(kind_of(w.read("f")) == error_kind::root_gone);
    CHECK(kind_of(w.write("f", "x")) == error_kind::root_gone);
    REQUIRE(::rmdir((w.root + "-empty").c_str()) != 0);
    REQUIRE(::rename(w.root.c_str(), (w.root + "-x").c_str()) == 0);
    link(w.root + "-moved", w.root);
    CHECK(kind_of(w.read("f")) == error_kind::root_gone);
    REQUIRE(::unlink(w.root.c_str()) == 0);
    REQUIRE(::rename((w.root + "-moved").c_str(), w.root.c_str()) == 0);
    CHECK(w.read("f")->data == "x");
  }
  world w;
  REQUIRE(::rmdir(w.root.c_str()) == 0);
  CHECK(kind_of(w.write("f", "x")) == error_kind::root_gone);
  CHECK(kind_of(w.list("")) == error_kind::root_gone);
  CHECK(kind_of(resolve_start_directory(*w.roots, "", w.how)) == error_kind::root_gone);
}

TEST_CASE("confinement: roots are directories, absolute, none in another") {
  temp_dir base;
  std::filesystem::create_directories(base / "a/b");
  put(base / "f", "x");
  const auto kind = [](std::vector<std::string> paths) { return kind_of(root_set::open(paths)); };
  CHECK(kind({}) == error_kind::invalid_params);
  CHECK(kind({"relative"}) == error_kind::invalid_params);
  CHECK(kind({base / "absent"}) == error_kind::not_found);
  CHECK(root_set::open({base / "f"}).error().number == ENOTDIR);
  CHECK(kind({base / "a", base / "a/b"}) == error_kind::invalid_params);
  CHECK(kind({base / "a/b", base / "a"}) == error_kind::invalid_params);
  CHECK(kind({base / "a", base / "a/"}) == error_kind::invalid_params);
  link("a", base / "link");
  CHECK(root_set::open({base / "link/./b/.."})->at(0).path == base / "a");
}

TEST_CASE("confinement: a directory exchanged with a link all the time never lets anything out (slow)") {
  world w;
  const std::string outside = w.base / "outside";
  for (const std::string& dir : {outside, w.in("real")}) {
    std::filesystem::create_directories(dir + "/deep");
    put(dir + "/f", dir == outside ? "SECRET" : "inside");
    put(dir + "/deep/f", dir == outside ? "SECRET" : "inside");
  }
  link(outside, w.in("d"));
  std::atomic<bool> stop = false;
  std::thread swapper([&] {
    const std::string one = w.in("d"), other = w.in("real");
    while (!stop) ::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE);
  });
  int good = 0, denied_count = 0;
  for (int round = 0; round < 20'000; ++round) {
    const auto note = [&](const auto& outcome) {
      if (outcome) ++good;
      if (!outcome && outcome.error().kind == error_kind::denied) ++denied_count;
    };
    switch (round % 10) {
      case 0:
        note(w.write("d/f", "inside"));
        break;
      case 1:
        note(w.write("d/deep/new" + std::to_string(round % 7), "inside"));
        break;
      case 2:
        note(w.edit("d/f", "inside", "inside"));
        break;
      case 3:
        note(w.mkdir("d/made/x", true));
        break;
      case 4:
        note(w.remove("d/made", true));
        break;
      case 5:
        note(w.copy("d/deep", "copied"));
        (void)w.remove("copied", true);
        break;
      case 6:
        note(w.move("d/deep/f", "d/deep/g", true));
        (void)w.move("d/deep/g", "d/deep/f", true);
        break;
      default: {
        const auto got = w.read(round % 2 == 0 ? "d/f" : "d/deep/f");
        if (got && got->data.find("SECRET") != std::string::npos) FAIL("read outside");
        note(got);
      }
    }
  }
  stop = true;
  swapper.join();
  CHECK(good > 0);
  CHECK(denied_count > 0);
  CHECK(text_of(outside + "/f") == "SECRET");
  CHECK(text_of(outside + "/deep/f") == "SECRET");
  CHECK(std::distance(std::filesystem::recursive_directory_iterator(outside), {}) == 3);
}
