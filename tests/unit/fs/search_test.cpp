#include <algorithm>

#include "tests/unit/fs/support.hpp"

using namespace sbx;
using namespace sbx::fs;
using namespace sbx::fs::test;

namespace {

using paths = std::vector<std::string>;

result<grep_reply> search(const world& w, const std::string& pattern, std::function<void(grep_request&)> more = {}) {
  grep_request request;
  request.pattern = pattern;
  if (more) more(request);
  return grep(*w.roots, request, w.how);
}

paths files_of(const result<grep_reply>& reply) {
  REQUIRE(reply);
  paths all;
  for (const grep_match& match : reply->matches) all.push_back(match.path);
  return all;
}

}  // namespace

TEST_CASE("glob: sorted paths that can be given back, from every root") {
  world w(2);
  const std::string second = w.base / "root1";
  std::filesystem::create_directories(w.in("a/b"));
  std::filesystem::create_directories(w.in(".git"));
  for (const std::string name : {"a.h", "a-b.h", "a/x.h", "a/b/y.h", ".git/z.h", "a/.dot.h"}) put(w.in(name), "");
  put(second + "/other.h", "");
  const auto found = w.find("**/*.h");
  REQUIRE(found);
  CHECK(found->paths == paths{second + "/other.h", "a-b.h", "a.h", "a/b/y.h", "a/x.h"});
  for (const std::string& path : found->paths) CHECK(w.read(path).has_value());
  CHECK(w.find("**/*.h", true)->paths.size() == 7);
  CHECK(w.find(".git/*.h")->paths == paths{".git/z.h"});
  CHECK(w.find("a")->paths == paths{"a"});
  CHECK(w.find("*/")->paths == paths{"a"});
  CHECK(w.find("a/*")->paths == paths{"a/b", "a/x.h"});
  CHECK(w.find(second + "/*")->paths == paths{second + "/other.h"});
  CHECK(kind_of(w.find("/etc/*")) == error_kind::denied);
  CHECK(kind_of(w.find("../*")) == error_kind::denied);
  glob_request request;
  request.pattern = "**/*.h";
  request.limit = 2;
  const auto part = glob(*w.roots, request, w.how);
  CHECK(part->truncated);
  CHECK(part->paths == paths{second + "/other.h", "a-b.h"});
  request.limit = 5;
  CHECK_FALSE(glob(*w.roots, request, w.how)->truncated);
  request.path = "a";
  CHECK(glob(*w.roots, request, w.how)->paths == paths{"a/b/y.h", "a/x.h"});
  request.path = "a.h";
  CHECK(glob(*w.roots, request, w.how).error().number == ENOTDIR);
}

TEST_CASE("glob: links are named, never walked into") {
  world w;
  std::filesystem::create_directories(w.in("a"));
  REQUIRE(::symlink("..", w.in("a/up").c_str()) == 0);
  REQUIRE(::symlink("/etc", w.in("out").c_str()) == 0);
  REQUIRE(::symlink("nowhere", w.in("bad").c_str()) == 0);
  CHECK(w.find("**")->paths == paths{"a", "a/up", "bad", "out"});
  CHECK(w.find("out/*")->paths.empty());
}

TEST_CASE("grep: lines, columns in bytes, context") {
  world w;
  put(w.in("f"), "one\ntwo \xc3\xa9 needle\r\nthree\nneedle needle\nfive");
  const auto found = search(w, "needle", [](grep_request& r) { r.context = 1; });
  REQUIRE(found);
  REQUIRE(found->matches.size() == 2);
  CHECK(found->matches[0].line == 2);
  CHECK(found->matches[0].column == 8);
  CHECK(found->matches[0].text == "two \xc3\xa9 needle");
  CHECK(found->matches[0].before == paths{"one"});
  CHECK(found->matches[0].after == paths{"three"});
  CHECK(found->matches[1].line == 4);
  CHECK(found->matches[1].column == 1);
  CHECK(found->matches[1].after == paths{"five"});
  CHECK(search(w, "^five$")->matches.size() == 1);
  CHECK(search(w, "NEEDLE", [](grep_request& r) { r.ignore_case = true; })->matches.size() == 2);
  CHECK(search(w, "one\\s+two")->matches.empty());
  CHECK(search(w, "")->matches.size() == 5);
  CHECK(search(w, "$")->matches.size() == 5);
  CHECK(search(w, "x*")->matches.size() == 5);
  CHECK(kind_of(search(w, "(")) == error_kind::invalid_params);
  CHECK(kind_of(search(w, "(?=x)")) == error_kind::invalid_params);
  const auto one = search(w, "needle", [](grep_request& r) { r.limit = 1; });
  CHECK(one->matches.size() == 1);
  CHECK(one->truncated);
  CHECK_FALSE(search(w, "needle", [](grep_request& r) { r.limit = 2; })->truncated);
}

TEST_CASE("grep: which files") {
  world w;
  std::filesystem::create_directories(w.in("src/deep"));
  std::filesystem::create_directories(w.in(".git"));
  put(w.in("src/a.c"), "needle\n");
  put(w.in("src/deep/b.h"), "needle\n");
  put(w.in(".git/c"), "needle\n");
  put(w.in("-e"), "needle\n");
  put(w.in("new\nline:1"), "needle\n");
  put(w.in("binary"), std::string("needle\0", 7));
  REQUIRE(::mkfifo(w.in("fifo").c_str(), 0666) == 0);
  REQUIRE(::symlink("src", w.in("link").c_str()) == 0);
  const auto all = search(w, "needle");
  CHECK(files_of(all) == paths{"-e", "new\nline:1", "src/a.c", "src/deep/b.h"});
  CHECK(all->skipped_binary == 1);
  CHECK(search(w, "needle", [](grep_request& r) { r.hidden = true; })->matches.size() == 5);
  CHECK(files_of(search(w, "needle", [](grep_request& r) { r.glob = "*.h"; })) == paths{"src/deep/b.h"});
  CHECK(files_of(search(w, "needle", [](grep_request& r) { r.glob = "src/*"; })) == paths{"src/a.c"});
  CHECK(files_of(search(w, "needle", [](grep_request& r) { r.path = "src"; })) == paths{"src/a.c", "src/deep/b.h"});
  CHECK(files_of(search(w, "needle", [](grep_request& r) { r.path = "src/a.c"; })) == paths{"src/a.c"});
  CHECK(files_of(search(w, "needle", [](grep_request& r) { r.path = "link"; })) == paths{"src/a.c", "src/deep/b.h"});
  CHECK(search(w, "needle", [](grep_request& r) { r.path = "fifo"; }).error().number == ENOTDIR);
}

TEST_CASE("grep: .gitignore files, nested and with exceptions") {
  world w;
  std::filesystem::create_directories(w.in("build"));
  std::filesystem::create_directories(w.in("src/gen"));
  put(w.in(".gitignore"), "build/\n*.log\n/top\n");
  put(w.in("src/.gitignore"), "!keep.log\ngen\n");
  for (const std::string name : {"build/x", "a.log", "top", "src/top", "src/keep.log", "src/b.log", "src/gen/y", "z"}) {
    put(w.in(name), "needle\n");
  }
  CHECK(search(w, "needle")->matches.size() == 8);
  const auto some = search(w, "needle", [](grep_request& r) { r.ignored = false; });
  CHECK(files_of(some) == paths{"src/keep.log", "src/top", "z"});
  const auto below = search(w, "needle", [](grep_request& r) {
    r.ignored = false;
    r.path = "src";
  });
  CHECK(files_of(below) == paths{"src/keep.log", "src/top"});
}

TEST_CASE("grep: files larger than a piece, lines across its edge, context too") {
  world w;
  std::string text;
  for (int line = 1; line <= 300'000; ++line) text += "line " + std::to_string(line) + "\n";
  put(w.in("f"), text);
  const auto all = search(w, "^line \\d*0000$", [](grep_request& r) { r.context = 2; });
  REQUIRE(all);
  CHECK(all->matches.size() == 30);
  for (const grep_match& match : all->matches) {
    const auto at = [](std::int64_t line) { return "line " + std::to_string(line); };
    CHECK(match.text == at(match.line));
    CHECK(match.before == paths{at(match.line - 2), at(match.line - 1)});
    if (match.line < 300'000) CHECK(match.after == paths{at(match.line + 1), at(match.line + 2)});
  }
  const auto every = search(w, "line", [](grep_request& r) {
    r.context = 1;
    r.limit = 10'000;
    r.path = "f";
  });
  CHECK(every->truncated);
  CHECK(every->matches.back().line == 10'000);
  put(w.in("long"), std::string(20 << 20, 'x') + "needle");
  const auto wide = search(w, "needle", [](grep_request& r) { r.path = "long"; });
  REQUIRE(wide);
  CHECK(wide->matches.size() == 1);
  CHECK(wide->matches[0].text.size() <= 64 * 1024);
}

TEST_CASE("rules: every operation holds them") {
  auto rules = policy::compile({"secret", "**/*.key"}, {"fixed/**"});
  REQUIRE(rules);
  world w(1, std::move(*rules));
  std::filesystem::create_directories(w.in("secret/sub"));
  std::filesystem::create_directories(w.in("fixed"));
  std::filesystem::create_directories(w.in("open"));
  put(w.in("secret/f"), "needle");
  put(w.in("fixed/f"), "needle");
  put(w.in("open/f"), "needle");
  put(w.in("open/a.key"), "needle");
  REQUIRE(::symlink("secret/f", w.in("link").c_str()) == 0);
  for (const std::string path : {"secret", "secret/f", "secret/absent", "secret/sub/..", "secret/absent/x", "link",
                                 "open/a.key", "open/absent.key", "secret/../open/f"}) {
    CAPTURE(path);
    CHECK(kind_of(w.read(path)) == error_kind::denied);
    CHECK(kind_of(w.write(path, "x")) == error_kind::denied);
    CHECK(kind_of(stat_file(*w.roots, path, last_link::follow, w.how)) == error_kind::denied);
    CHECK(kind_of(w.list(path)) == error_kind::denied);
    CHECK(kind_of(w.copy(path, "x")) == error_kind::denied);
    CHECK(kind_of(w.mkdir(path, true)) == error_kind::denied);
    CHECK(kind_of(w.copy("open/f", path, true)) == error_kind::denied);
  }
  CHECK(w.read("fixed/f").has_value());
  CHECK(kind_of(w.write("fixed/f", "x")) == error_kind::denied);
  CHECK(kind_of(w.write("fixed/new", "x")) == error_kind::denied);
  CHECK(kind_of(w.edit("fixed/f", "needle", "x")) == error_kind::denied);
  CHECK(kind_of(w.open("fixed/f", open_mode::append)) == error_kind::denied);
  CHECK(w.open("fixed/f", open_mode::read).has_value());
  CHECK(kind_of(w.mkdir("fixed/deep/er", true)) == error_kind::denied);
  CHECK(kind_of(w.remove("fixed/f")) == error_kind::denied);
  CHECK(kind_of(w.remove("fixed", true)) == error_kind::denied);
  CHECK(kind_of(w.move("fixed", "moved")) == error_kind::denied);
  CHECK(kind_of(w.move("open", "moved")) == error_kind::denied);
  CHECK(kind_of(w.copy("open", "copied")) == error_kind::denied);
  CHECK(kind_of(w.remove("open", true)) == error_kind::denied);
  CHECK(kind_of(w.move("open/f", "open/x.key")) == error_kind::denied);
  REQUIRE(w.copy("fixed", "free"));
  CHECK(names_of(*w.list("")) == paths{"fixed", "free", "link", "open"});
  CHECK(names_of(*w.list("open")) == paths{"f"});
  CHECK(w.find("**")->paths == paths{"fixed", "fixed/f", "free", "free/f", "link", "open", "open/f"});
  CHECK(files_of(search(w, "needle")) == paths{"fixed/f", "free/f", "open/f"});
  CHECK(kind_of(locate(*w.roots, "secret/x", last_link::follow, w.how)) == error_kind::denied);
}
