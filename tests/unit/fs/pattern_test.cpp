#include "daemon/fs/pattern.hpp"

#include <doctest/doctest.h>

#include "daemon/fs/braces.hpp"
#include "daemon/fs/ignore.hpp"
#include "daemon/fs/policy.hpp"

using namespace sbx::fs;

namespace {

bool hit(const std::string& pattern_text, const std::string& path, dot_names dots = dot_names::skipped) {
  const auto compiled = pattern::compile(pattern_text);
  REQUIRE(compiled);
  return compiled->matches(path, dots);
}

}  // namespace

TEST_CASE("pattern: stars, marks and brackets stay within a name") {
  CHECK(hit("*.h", "a.h"));
  CHECK_FALSE(hit("*.h", "d/a.h"));
  CHECK(hit("a?c", "abc"));
  CHECK(hit("a?c",
            "a\xe2\x82\xac"
            "c"));
  CHECK_FALSE(hit("a?c", "a/c"));
  CHECK(hit("[a-c]x", "bx"));
  CHECK_FALSE(hit("[!a-c]x", "bx"));
  CHECK(hit("[]]", "]"));
  CHECK(hit("[a-]", "-"));
  CHECK(hit("[[:digit:]]", "7"));
  CHECK(hit("[", "["));
  CHECK(hit("a[b", "a[b"));
  CHECK(hit("[\xc3\xa0-\xc3\xbf]", "\xc3\xa9"));
}

TEST_CASE("pattern: two stars match any number of parts, at the end at least one") {
  CHECK(hit("**/*.h", "a.h"));
  CHECK(hit("**/*.h", "x/y/a.h"));
  CHECK(hit("a/**/b", "a/b"));
  CHECK(hit("a/**/b", "a/x/y/b"));
  CHECK(hit("a/**", "a/x/y"));
  CHECK_FALSE(hit("a/**", "a"));
  CHECK(hit("**", "x/y"));
  CHECK_FALSE(hit("a/**/b", "a/xb"));
  CHECK(hit("**/a/**/b", "q/a/a/z/b"));
}

TEST_CASE("pattern: wildcards pass over dot names unless told, a literal dot never") {
  CHECK_FALSE(hit("*", ".git"));
  CHECK(hit(".g*", ".git"));
  CHECK(hit(".git/config", ".git/config"));
  CHECK_FALSE(hit("**/config", ".git/config"));
  CHECK(hit("**/config", ".git/config", dot_names::matched));
  CHECK_FALSE(hit("?x", ".x"));
  CHECK_FALSE(hit("[.]x", ".x"));
}

TEST_CASE("pattern: escapes and braces") {
  CHECK(hit("\\*", "*"));
  CHECK_FALSE(hit("\\*", "a"));
  CHECK(hit("{a,b}.c", "b.c"));
  CHECK(hit("{src,test/unit}/*.c", "test/unit/x.c"));
  CHECK(hit("a{b,c{d,e}}", "ace"));
  CHECK(hit("{a}", "{a}"));
  CHECK(hit("{a", "{a"));
  CHECK(hit("\\{a,b\\}", "{a,b}"));
  CHECK(hit("a{,b}", "a"));
}

TEST_CASE("pattern: an explosive one is refused, a slow one is not slow") {
  std::string bomb;
  for (int index = 0; index < 40; ++index) bomb += "{a,b}";
  const auto refused = pattern::compile(bomb);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == sbx::error_kind::limit);
  CHECK_FALSE(pattern::compile(std::string(60'000, '{')).has_value() == false);
  std::string stars, name(2000, 'a');
  for (int index = 0; index < 200; ++index) stars += "*a";
  CHECK_FALSE(hit(stars + "b", name));
  std::string depth, path = "a";
  for (int index = 0; index < 100; ++index) depth += "**/a/";
  for (int index = 0; index < 1000; ++index) path += "/a";
  CHECK_FALSE(hit(depth + "b", path));
}

TEST_CASE("pattern: empty, NUL and .. are refused") {
  CHECK(pattern::compile("").error().kind == sbx::error_kind::invalid_params);
  CHECK(pattern::compile(std::string_view("a\0b", 3)).error().kind == sbx::error_kind::invalid_params);
  CHECK(pattern::compile("a/../b").error().kind == sbx::error_kind::denied);
}

TEST_CASE("pattern: progress agrees with matching whole paths") {
  for (const std::string text : {"**/*.h", "a/**/b", "{a,b}/c", "a/*/c", "**", "*"}) {
    const auto compiled = pattern::compile(text);
    REQUIRE(compiled);
    for (const std::string path : {"a", "a/b", "a/x/b", "x/y.h", "a/c", "b/c", "a/b/c", "q"}) {
      pattern::progress now = compiled->begin();
      std::string_view rest = path;
      while (!rest.empty()) {
        const std::size_t slash = std::min(rest.find('/'), rest.size());
        now = now.after(rest.substr(0, slash), dot_names::skipped);
        rest.remove_prefix(std::min(slash + 1, rest.size()));
      }
      CAPTURE(text);
      CAPTURE(path);
      CHECK(now.matched() == compiled->matches(path, dot_names::skipped));
    }
  }
}

TEST_CASE("policy: a rule holds for all beneath, dots and all") {
  const auto rules = policy::compile({"secret", "**/*.key", "/top/**"}, {"vendor/**", "LICENSE"});
  REQUIRE(rules);
  CHECK(rules->denies("secret"));
  CHECK(rules->denies("secret/a/.b"));
  CHECK(rules->denies(".x/y.key"));
  CHECK_FALSE(rules->denies("secrets"));
  CHECK_FALSE(rules->denies("top"));
  CHECK(rules->denies("top/a"));
  CHECK_FALSE(rules->denies("vendor/a"));
  CHECK(rules->forbids_change("vendor/a"));
  CHECK(rules->forbids_change("secret"));
  CHECK_FALSE(rules->forbids_change("vendor2"));
}

TEST_CASE("ignore: the rules of one file, as git reads them") {
  const ignore_file rules = ignore_file::parse(
      "# comment\n"
      "*.o\n"
      "!keep.o\n"
      "build/\n"
      "/only-top\n"
      "doc/*.txt\n"
      "a/**/z\n"
      "\\#hash\n"
      "\\!bang\n"
      "trailing   \n"
      "kept\\ \n"
      "crlf\r\n"
      "**/foo/bar\n");
  const auto ignored = [&](const std::string& path, bool directory = false) {
    return rules.judge(path, directory) == ignore_file::verdict::ignored;
  };
  CHECK(ignored("x.o"));
  CHECK(ignored("d/e/x.o"));
  CHECK_FALSE(ignored("keep.o"));
  CHECK(ignored("build", true));
  CHECK_FALSE(ignored("build", false));
  CHECK(ignored("d/build", true));
  CHECK(ignored("only-top"));
  CHECK_FALSE(ignored("d/only-top"));
  CHECK(ignored("doc/a.txt"));
  CHECK_FALSE(ignored("doc/d/a.txt"));
  CHECK_FALSE(ignored("x/doc/a.txt"));
  CHECK(ignored("a/z"));
  CHECK(ignored("a/b/c/z"));
  CHECK(ignored("#hash"));
  CHECK(ignored("!bang"));
  CHECK(ignored("trailing"));
  CHECK(ignored("kept "));
  CHECK(ignored("crlf"));
  CHECK(ignored("q/foo/bar"));
}
