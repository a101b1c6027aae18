#include "proto/bytes.hpp"

#include <doctest/doctest.h>

using namespace sbx::proto;

TEST_CASE("bytes: tells UTF-8 from what only looks like it") {
  CHECK(is_utf8(""));
  CHECK(is_utf8("plain text that is longer than eight bytes"));
  CHECK(is_utf8("\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80"));
  CHECK(is_utf8(std::string_view("a\0b", 3)));
  CHECK_FALSE(is_utf8("\xC0\x80"));          // overlong
  CHECK_FALSE(is_utf8("\xE0\x80\x80"));      // overlong
  CHECK_FALSE(is_utf8("\xED\xA0\x80"));      // surrogate
  CHECK_FALSE(is_utf8("\xF4\x90\x80\x80"));  // beyond U+10FFFF
  CHECK_FALSE(is_utf8("\xFF"));
  CHECK_FALSE(is_utf8("12345678\x80"));
  CHECK_FALSE(is_utf8("\xE2\x82"));
}

TEST_CASE("bytes: replaces each maximal broken part once") {
  CHECK(replace_invalid_utf8("a\xE2\x82z") == "a\xEF\xBF\xBDz");
  CHECK(replace_invalid_utf8("\xFF\xFE") == "\xEF\xBF\xBD\xEF\xBF\xBD");
  CHECK(replace_invalid_utf8("ok \xC3\xA4") == "ok \xC3\xA4");
}

TEST_CASE("bytes: holds back only what could still become a character") {
  CHECK(incomplete_tail("") == 0);
  CHECK(incomplete_tail("abc") == 0);
  CHECK(incomplete_tail("a\xE2\x82") == 2);
  CHECK(incomplete_tail("a\xE2") == 1);
  CHECK(incomplete_tail("a\xF0\x9F\x98") == 3);
  CHECK(incomplete_tail("a\xE2\x82\xAC") == 0);
  CHECK(incomplete_tail("a\xFF") == 0);
  CHECK(incomplete_tail("a\xE0\x80") == 0);  // already wrong
  CHECK(incomplete_tail("a\x80\x80\x80\x80") == 0);
}

TEST_CASE("base64: goes round, whatever the length") {
  std::string bytes;
  for (int n = 0; n < 300; ++n) {
    const auto text = base64_encode(bytes);
    CHECK(text.size() % 4 == 0);
    CHECK(base64_decode(text) == bytes);
    bytes += static_cast<char>(n * 7);
  }
  CHECK(base64_encode("fo") == "Zm8=");
  CHECK(base64_encode("foobar") == "Zm9vYmFy");
}

TEST_CASE("base64: refuses what no encoder writes") {
  for (const char* text :
       {"Zm8", "Zm8==", "Z===", "====", "Zm9v\n", "Zm9v Zm9", "Zm9=Zm9v", "Zm9", "Zm-_", "Zn==", "Zm9="})
    CHECK_MESSAGE(!base64_decode(text), text);
  CHECK(base64_decode("") == "");
}
