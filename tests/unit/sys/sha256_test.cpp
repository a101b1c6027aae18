#include "daemon/sys/sha256.hpp"

#include <doctest/doctest.h>

#include <string_view>

namespace sbx::sys {
namespace {

std::string digest(std::string_view text, std::size_t piece) {
  sha256 hash;
  while (!text.empty()) {
    const auto part = text.substr(0, piece);
    hash.update(std::as_bytes(std::span(part.data(), part.size())));
    text.remove_prefix(part.size());
  }
  return hash.hex();
}

TEST_CASE("sha256: the vectors of FIPS 180-4") {
  CHECK(digest("", 1) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(digest("abc", 3) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56) ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST_CASE("sha256: the pieces it comes in make no difference") {
  const std::string million(1'000'000, 'a');
  for (const std::size_t piece : {1U, 55U, 56U, 63U, 64U, 65U, 1000U, 1'000'000U})
    CHECK(digest(million, piece) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

}  // namespace
}  // namespace sbx::sys
