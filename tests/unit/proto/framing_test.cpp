#include "proto/framing.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace sbx::proto;

namespace {

std::vector<frame> all(frame_parser& parser) {
  std::vector<frame> out;
  while (auto one = parser.next()) out.push_back(*one);
  return out;
}

}  // namespace

TEST_CASE("framing: lines, with carriage returns and blank lines ignored") {
  frame_parser parser(100);
  parser.feed("{\"a\":1}\r\n\n  \r\n{}\n{\"b\"");
  const auto frames = all(parser);
  REQUIRE(frames.size() == 2);
  CHECK(frames[0].text == "{\"a\":1}");
  CHECK(frames[0].begin == 0);
  CHECK(frames[0].end == 9);
  CHECK(frames[1].text == "{}");
  CHECK(frames[1].begin == 14);
  CHECK(frames[1].end == 17);
  CHECK(parser.pending_begin() == 17);
  CHECK(parser.fed() == 21);
  parser.feed(":2}");
  CHECK(all(parser).empty());
  parser.finish();
  const auto last = all(parser);
  REQUIRE(last.size() == 1);
  CHECK(last[0].text == "{\"b\":2}");
  CHECK(last[0].begin == 17);
  CHECK(all(parser).empty());
}

TEST_CASE("framing: offsets hold when fed byte by byte, in either framing") {
  for (const std::string& stream :
       {std::string("[1]\n\n[22]\r\n[333]\n"),
        std::string("Content-Length: 3\r\n\r\n[1]content-type: x\r\nCONTENT-LENGTH:4\r\n\r\n[22]")}) {
    frame_parser whole(1000), bytewise(1000);
    whole.feed(stream);
    const auto expected = all(whole);
    std::vector<frame> got;
    for (const char c : stream) {
      bytewise.feed(std::string_view(&c, 1));
      for (auto& one : all(bytewise)) got.push_back(one);
    }
    REQUIRE(expected.size() >= 2);
    REQUIRE(got.size() == expected.size());
    for (std::size_t n = 0; n < got.size(); ++n) {
      CHECK(got[n].text == expected[n].text);
      CHECK(got[n].begin == expected[n].begin);
      CHECK(got[n].end == expected[n].end);
    }
    CHECK(bytewise.pending_begin() == stream.size());
  }
}

TEST_CASE("framing: refuses a message over the limit") {
  SUBCASE("a line with its end") {
    frame_parser parser(10);
    parser.feed("{}\n0123456789\n01234567890\n");
    CHECK(all(parser).size() == 2);
    REQUIRE(parser.failure());
    CHECK(parser.failure()->kind == error_kind::invalid_request);
  }
  SUBCASE("a line without an end") {
    frame_parser parser(10);
    parser.feed("0123456789");
    CHECK(all(parser).empty());
    CHECK_FALSE(parser.failure());
    parser.feed("0");
    CHECK(all(parser).empty());
    CHECK(parser.failure());
    parser.feed(std::string(1000, 'x'));
    CHECK(parser.buffered() == 0);
  }
  SUBCASE("a length") {
    frame_parser parser(10);
    parser.feed("Content-Length: 11\r\n\r\n");
    CHECK(all(parser).empty());
    CHECK(parser.failure());
  }
}

TEST_CASE("framing: refuses a header without a valid length") {
  for (const char* text : {"Content-Length: x\r\n\r\n", "Content-Length: -1\r\n\r\n", "Content-Type: a\r\n\r\n",
                           "C\r\n\r\n", "Content-Length: 99999999999999999999999\r\n\r\n", "Content-Length:\r\n\r\n",
                           "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", "content-length: 1 2\r\n\r\n"}) {
    frame_parser parser(100);
    parser.feed(text);
    CHECK(all(parser).empty());
    CHECK_MESSAGE(parser.failure(), text);
  }
  frame_parser endless(100);
  endless.feed("C" + std::string(10000, 'x'));
  CHECK(all(endless).empty());
  CHECK(endless.failure());
}

TEST_CASE("framing: many blank lines cost no stack") {
  frame_parser parser(100);
  std::string blank;
  for (int n = 0; n < 200000; ++n) blank += " \n\r\n";
  parser.feed(blank + "{}\n");
  CHECK(all(parser).size() == 1);
}
