#include "daemon/sandbox/image.hpp"

#include <doctest/doctest.h>

#include <cstdio>

namespace sbx::sandbox {
namespace {

std::string tar_entry(char type, const std::string& content) {
  std::string header(512, '\0');
  header.replace(0, 6, "passwd");
  char size[12];
  std::snprintf(size, sizeof size, "%011zo", content.size());
  header.replace(124, 11, size);
  header[156] = type;
  std::string padded = content;
  padded.resize((content.size() + 511) / 512 * 512);
  return header + padded;
}

TEST_CASE("image: an env value may hold newlines, quotes and equals signs") {
  using namespace std::string_literals;
  const auto info = parse_image("sha256:1\0linux\0amd64\0nobody\0A=x\ny\"=z\0PATH=/bin\0broken\0=odd\0\n"s);
  REQUIRE(info);
  CHECK(info->id == "sha256:1");
  CHECK(info->user == "nobody");
  CHECK(info->env == std::vector<std::string>{"A=x\ny\"=z", "PATH=/bin"});
  CHECK_FALSE(parse_image("sha256:1"));
  CHECK_FALSE(parse_image(""));
}

TEST_CASE("image: the first file of a tar stream, extended headers before it or not") {
  CHECK(first_file_of_tar(tar_entry('0', "root:x:0\n") + std::string(1024, '\0')) == "root:x:0\n");
  CHECK(first_file_of_tar(tar_entry('x', "30 mtime=1") + tar_entry('0', "abc")) == "abc");
  CHECK_FALSE(first_file_of_tar(tar_entry('2', "")));
  CHECK_FALSE(first_file_of_tar(tar_entry('0', std::string(2000, 'x')).substr(0, 1000)));
  CHECK_FALSE(first_file_of_tar(""));
  CHECK_FALSE(first_file_of_tar(std::string(512, '7')));
}

TEST_CASE("image: platforms") {
  CHECK(runs_here("amd64", "x86_64"));
  CHECK_FALSE(runs_here("arm64", "x86_64"));
  CHECK(runs_here("arm", "aarch64"));
  CHECK(runs_here("", "x86_64"));
}

TEST_CASE("image: a pull's progress is counted in layers") {
  pull_progress progress;
  CHECK(progress.add("12: Pulling from library/x\nab: Pulling fs layer\ncd: Already exists\nab: Down"));
  CHECK(progress.total() == 2);
  CHECK(progress.done() == 1);
  CHECK_FALSE(progress.add("loading\n"));
  CHECK(progress.add("ab: Pull complete\n"));
  CHECK(progress.done() == 2);
}

}  // namespace
}  // namespace sbx::sandbox
