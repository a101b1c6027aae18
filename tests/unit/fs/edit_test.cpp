#include <sys/resource.h>

#include "daemon/fs/literal_search.hpp"
#include "tests/unit/fs/support.hpp"

using namespace sbx;
using namespace sbx::fs;
using namespace sbx::fs::test;

namespace {

std::int64_t detail(const error& e, const std::string& name) {
  for (const auto& [key, value] : e.details) {
    if (key == name) return std::get<std::int64_t>(value);
  }
  return -1;
}

std::vector<std::int64_t> lines_in(const error& e) {
  for (const auto& [key, value] : e.details) {
    if (key == "lines") return std::get<std::vector<std::int64_t>>(value);
  }
  return {};
}

std::int64_t count_in(const std::string& text, const std::string& needle) {
  const byte_reader reader = [&](std::int64_t offset, char* buffer, std::size_t size) {
    const std::size_t begin = std::min(static_cast<std::size_t>(offset), text.size());
    return static_cast<std::int64_t>(text.copy(buffer, size, begin));
  };
  return count_matches(reader, needle, matches_counted::overlapping, [] { return false; }).count;
}

std::int64_t count_plainly(const std::string& text, const std::string& needle) {
  std::int64_t count = 0;
  for (std::size_t at = text.find(needle); at != std::string::npos; at = text.find(needle, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("edit: literal bytes, everything around them untouched") {
  world w;
  const std::string before(
      "\xef\xbb\xbf"
      "a.b*\r\n\0\xff\xfe x.y \r\nz\x80",
      21);
  put(w.in("f"), before);
  ::chmod(w.in("f").c_str(), 0600);
  REQUIRE(w.edit("f", "x.y", "$1 \\n & new"));
  std::string after = before;
  after.replace(after.find("x.y"), 3, "$1 \\n & new");
  CHECK(text_of(w.in("f")) == after);
  CHECK(kind_of(w.edit("f", "aXb", "q")) == error_kind::edit_mismatch);
  CHECK(kind_of(w.edit("f", "", "q")) == error_kind::invalid_params);
  CHECK(kind_of(w.edit("none", "a", "q")) == error_kind::not_found);
}

TEST_CASE("edit: overlapping matches count, the error names count and lines") {
  world w;
  put(w.in("f"), "x\naaa\n\naa\n");
  const auto refused = w.edit("f", "aa", "b");
  CHECK(kind_of(refused) == error_kind::edit_mismatch);
  CHECK(detail(refused.error(), "count") == 3);
  CHECK(lines_in(refused.error()) == std::vector<std::int64_t>{2, 2, 4});
  const auto absent = w.edit("f", "zz", "b");
  CHECK(detail(absent.error(), "count") == 0);
  CHECK(lines_in(absent.error()).empty());
  CHECK(w.edit("f", "aa", "b", true)->replacements == 2);
  CHECK(text_of(w.in("f")) == "x\nba\n\nb\n");
}

TEST_CASE("edit: counting is right whatever repeats itself") {
  unsigned seed = 1;
  for (int round = 0; round < 2000; ++round) {
    std::string text, needle;
    const auto next = [&] { return (seed = seed * 1103515245 + 12345) >> 16; };
    for (unsigned length = next() % 40; text.size() < length;) text.push_back("ab"[next() % 2]);
    for (unsigned length = 1 + next() % 6; needle.size() < length;) needle.push_back("ab"[next() % 2]);
    CAPTURE(text);
    CAPTURE(needle);
    CHECK(count_in(text, needle) == count_plainly(text, needle));
  }
  const std::string many(6 << 20, 'a'), wide(1 << 20, 'a');
  CHECK(count_in(many, wide) == (5 << 20) + 1);
  std::string edge(3 << 20, '.');
  edge.replace((1 << 20) - 3, 6, "needle");
  CHECK(count_in(edge, "needle") == 1);
}

TEST_CASE("edit: a list is applied in order, all or none") {
  world w;
  put(w.in("f"), "one two");
  edit_request request;
  request.path = "f";
  request.edits.emplace_back("one", "1", false);
  request.edits.emplace_back("1 two", "1 2", false);
  const auto done = edit_file(*w.roots, request, w.how);
  REQUIRE(done);
  CHECK(done->replacements == 2);
  CHECK(text_of(w.in("f")) == "1 2");
  request.edits.clear();
  request.edits.emplace_back("1", "one", false);
  request.edits.emplace_back("absent", "x", false);
  CHECK(kind_of(edit_file(*w.roots, request, w.how)) == error_kind::edit_mismatch);
  CHECK(text_of(w.in("f")) == "1 2");
  request.edits.pop_back();
  request.if_match = done->etag;
  CHECK(edit_file(*w.roots, request, w.how).has_value());
  CHECK(kind_of(edit_file(*w.roots, request, w.how)) == error_kind::conflict);
}

TEST_CASE("edit: 100 MB in bounded memory") {
  world w;
  {
    const sys::unique_fd fd(::open(w.in("f").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
    const std::string chunk(1 << 20, 'x');
    for (int index = 0; index < 100; ++index) REQUIRE(::write(fd.get(), chunk.data(), chunk.size()) == 1 << 20);
    REQUIRE(::pwrite(fd.get(), "needle", 6, (50 << 20) - 3) == 6);
  }
  rusage before{}, after{};
  ::getrusage(RUSAGE_SELF, &before);
  REQUIRE(w.edit("f", "needle", "found it"));
  ::getrusage(RUSAGE_SELF, &after);
  CHECK(after.ru_maxrss - before.ru_maxrss < 40 * 1024);
  struct stat status {};
  REQUIRE(::stat(w.in("f").c_str(), &status) == 0);
  CHECK(status.st_size == (100 << 20) + 2);
  read_request request;
  request.path = "f";
  request.offset = (50 << 20) - 5;
  request.max_bytes = 12;
  CHECK(read_file(*w.roots, request, w.how)->data == "xxfound itxx");
  w.how.edit_bytes_max = 1 << 20;
  CHECK(kind_of(w.edit("f", "found it", "x")) == error_kind::too_large);
}
