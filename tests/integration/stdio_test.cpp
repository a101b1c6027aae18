// Bytes in and out of a command: none lost without being counted, none torn.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <thread>

#include "tests/support/harness/daemon.hpp"
#include "tests/support/harness/row.hpp"

using namespace sbx::test;

namespace {

std::string noise(std::size_t size) {
  std::string bytes(size, '\0');
  std::mt19937 engine(7);
  for (std::size_t i = 0; i + 4 <= size; i += 4) {
    const auto word = engine();
    bytes.replace(i, 4, reinterpret_cast<const char*>(&word), 4);
  }
  return bytes;
}

void feed(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

}  // namespace

TEST_SUITE_BEGIN("every");

TEST_CASE("stdin: absent, it is an immediate end-of-file") {
  world w;
  const json answer = w.run({"cat"});
  CHECK(answer["exit"]["code"] == 0);
  CHECK(answer["stdout"]["total_bytes"] == 0);
}

TEST_CASE("stdin: 8 MiB as data go through cat unchanged") {
  world w;
  const std::string bytes = noise(8 << 20);
  const json answer = w.run({"sha256sum"}, {{"stdin", {{"data", to_base64(bytes)}, {"encoding", "base64"}}}});
  write_file(w.root + "/copy", bytes);
  CHECK(bytes_of(answer["stdout"]).substr(0, 64) == run({"sha256sum", w.root + "/copy"}).out.substr(0, 64));
}

TEST_CASE("stdin: 16 MiB by descriptor come back by descriptor unchanged") {
  world w;
  const std::string bytes = noise(16 << 20);
  pipe_ends in = make_pipe(), out = make_pipe();
  const int id = w.c.start(
      "exec.run", {{"workspace", w.workspace}, {"argv", {"cat"}}, {"stdin", {{"fd", 0}}}, {"stdout", {{"fd", 1}}}},
      {in.read.get(), out.write.get()});
  in.read.reset(), out.write.reset();
  std::thread writer([&] { feed(in.write.get(), bytes), in.write.reset(); });
  const std::string back = read_all(out.read, 30000ms);
  writer.join();
  const json answer = w.c.result(id);
  CHECK(answer["exit"]["code"] == 0);
  CHECK(answer["stdout"].is_null());
  CHECK(answer["stderr"]["total_bytes"] == 0);
  CHECK(back == bytes);
}

TEST_CASE("stdin: a command that never reads it, or closes it, costs nothing") {
  world w;
  const std::string bytes(4 << 20, 'x');
  CHECK(w.sh("sleep 0.1", {{"stdin", {{"data", bytes}}}})["exit"]["code"] == 0);
  CHECK(w.sh("exec <&-; echo closed", {{"stdin", {{"data", bytes}}}})["exit"]["code"] == 0);
  CHECK(w.sh("head -c 10", {{"stdin", {{"data", bytes}}}})["stdout"]["data"] == "xxxxxxxxxx");
}

TEST_CASE("output: 300 MB keep memory flat, with true totals and both ends kept") {
  world w;
  w.sh("true");
  const auto before = resident_kb(w.host.pid());
  const json answer = w.sh("echo FIRST; head -c 300000000 /dev/zero | tr '\\0' 'x'; echo; echo LAST");
  CHECK(answer["exit"]["code"] == 0);
  const json& output = answer["stdout"];
  const std::string kept = bytes_of(output);
  CHECK(output["total_bytes"] == 300000012);
  CHECK(output["dropped_bytes"].get<std::int64_t>() == 300000012 - static_cast<std::int64_t>(kept.size()));
  CHECK(kept.size() <= 1 << 20);
  CHECK(kept.size() > (1 << 20) - 16);
  CHECK(kept.substr(0, 6) == "FIRST\n");
  CHECK(kept.substr(kept.size() - 5) == "LAST\n");
  CHECK(output["dropped_at"].get<int>() >= (1 << 19) - 4);
  CHECK(output["dropped_at"].get<int>() <= (1 << 19) + 4);
  CHECK(resident_kb(w.host.pid()) - before < 24000);
}

TEST_CASE("output: max_output_bytes keeps the first and the last half of each stream") {
  world w;
  const json answer = w.sh("printf 0123456789abcdefghij; printf ABCDEFGHIJ >&2", {{"max_output_bytes", 10}});
  CHECK(answer["stdout"]["data"] == "01234fghij");
  CHECK(answer["stdout"]["total_bytes"] == 20);
  CHECK(answer["stdout"]["dropped_bytes"] == 10);
  CHECK(answer["stdout"]["dropped_at"] == 5);
  CHECK(answer["stderr"]["data"] == "ABCDEFGHIJ");
  CHECK(answer["stderr"]["dropped_bytes"] == 0);
  CHECK(answer["stderr"]["dropped_at"].is_null());
}

TEST_CASE("output: bytes that are no UTF-8 come as base64, unless text is forced") {
  world w;
  json answer = w.sh("printf 'a\\377b'");
  CHECK(answer["stdout"]["encoding"] == "base64");
  CHECK(bytes_of(answer["stdout"]) ==
        "a\xff"
        "b");
  answer = w.sh("printf 'a\\377b'", {{"encoding", "utf-8"}});
  CHECK(answer["stdout"]["encoding"] == "utf-8");
  CHECK(answer["stdout"]["data"] ==
        "a\xef\xbf\xbd"
        "b");
  CHECK(answer["stdout"]["lossy"] == true);
  answer = w.sh("printf plain", {{"encoding", "base64"}});
  CHECK(answer["stdout"]["data"] == to_base64("plain"));
}

TEST_CASE("output: text is cut only between characters") {
  world w;
  for (int cap = 10; cap < 22; ++cap) {
    CAPTURE(cap);
    const json answer = w.sh("for i in $(seq 100); do printf '\\342\\202\\254'; done", {{"max_output_bytes", cap}});
    CHECK(answer["stdout"]["encoding"] == "utf-8");
    const auto kept = answer["stdout"]["data"].get<std::string>();
    CHECK(kept.size() % 3 == 0);
    CHECK(answer["stdout"]["total_bytes"] == 300);
    CHECK(answer["stdout"]["dropped_bytes"] == 300 - static_cast<int>(kept.size()));
  }
}

TEST_CASE("output: merge_stderr keeps the order of writing in one stream") {
  world w;
  const json answer = w.sh("echo 1; echo 2 >&2; echo 3; echo 4 >&2", {{"merge_stderr", true}});
  CHECK(answer["stdout"]["data"] == "1\n2\n3\n4\n");
  CHECK(answer["stderr"].is_null());
}

TEST_CASE("output: a socket serves as well as a pipe") {
  world w;
  int pair[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
  const sbx::sys::unique_fd mine(pair[0]);
  sbx::sys::unique_fd theirs(pair[1]);
  const int id = w.c.start("exec.run", {{"workspace", w.workspace}, {"argv", {"echo", "hi"}}, {"stdout", {{"fd", 0}}}},
                           {theirs.get()});
  theirs.reset();
  CHECK(read_all(mine) == "hi\n");
  CHECK(w.c.result(id)["exit"]["code"] == 0);
}

TEST_CASE("descriptors: the wrong direction or an index that names none is invalid") {
  world w;
  pipe_ends ends = make_pipe();
  const auto kind = [&](json more, std::vector<int> fds) {
    more["workspace"] = w.workspace;
    more["argv"] = {"true"};
    return w.c.kind("exec.run", more, fds);
  };
  CHECK(kind({{"stdin", {{"fd", 0}}}}, {ends.write.get()}) == "invalid_params");
  CHECK(kind({{"stdout", {{"fd", 0}}}}, {ends.read.get()}) == "invalid_params");
  CHECK(kind({{"stdout", {{"fd", 1}}}}, {ends.write.get()}) == "invalid_params");
  CHECK(kind({{"stdout", {{"fd", -1}}}}, {ends.write.get()}) == "invalid_params");
  CHECK(kind({{"stdout", {{"fd", 0}}}}, {}) == "invalid_params");
  // All of them are closed: the pipe ends when our own end does.
  ends.write.reset();
  CHECK(read_all(ends.read).empty());
}

TEST_CASE("output: /dev/null may be handed over") {
  world w;
  const sbx::sys::unique_fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const json answer = w.c.call(
      "exec.run",
      {{"workspace", w.workspace}, {"command", "cat; echo lost"}, {"stdin", {{"fd", 0}}}, {"stdout", {{"fd", 1}}}},
      {null.get(), null.get()});
  CHECK(answer["exit"]["code"] == 0);
  CHECK(answer["stdout"].is_null());
}

TEST_SUITE_END();

TEST_SUITE_BEGIN("bwrap");

TEST_CASE("descriptors: a terminal, a directory, an O_PATH or a regular file would carry rights in, and is refused") {
  world w;
  write_file(w.root + "/file", "x");
  const int flags[] = {O_RDWR, O_RDONLY | O_DIRECTORY, O_PATH, O_RDWR};
  const std::string paths[] = {w.root + "/file", w.root, w.root + "/file", "/dev/ptmx"};
  for (int i = 0; i < 4; ++i) {
    CAPTURE(i);
    const sbx::sys::unique_fd fd(::open(paths[i].c_str(), flags[i] | O_CLOEXEC | O_NOCTTY));
    REQUIRE(fd);
    for (const char* name : {"stdin", "stdout", "stderr"}) {
      CHECK(w.c.kind("exec.run", {{"workspace", w.workspace}, {"argv", {"true"}}, {name, {{"fd", 0}}}}, {fd.get()}) ==
            "invalid_params");
    }
  }
}

TEST_SUITE_END();
