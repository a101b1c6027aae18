#include <sys/socket.h>
#include <sys/un.h>

#include <thread>

#include "tests/unit/fs/support.hpp"

using namespace sbx;
using namespace sbx::fs;
using namespace sbx::fs::test;

TEST_CASE("read: bytes, size, offsets, the end") {
  world w;
  put(w.in("f"), "hello\n");
  const auto whole = w.read("f");
  REQUIRE(whole);
  CHECK(whole->data == "hello\n");
  CHECK(whole->size == 6);
  CHECK(whole->eof);
  CHECK(whole->next_offset == 6);
  read_request part;
  part.path = "f";
  part.offset = 2;
  part.max_bytes = 3;
  auto got = read_file(*w.roots, part, w.how);
  REQUIRE(got);
  CHECK(got->data == "llo");
  CHECK_FALSE(got->eof);
  part.offset = 3;
  CHECK(read_file(*w.roots, part, w.how)->eof);
  part.offset = 100;
  got = read_file(*w.roots, part, w.how);
  CHECK(got->data.empty());
  CHECK(got->eof);
  part.offset = INT64_MAX;
  CHECK(read_file(*w.roots, part, w.how)->eof);
}

TEST_CASE("read: text is not cut within a character, but at the end and when bytes are asked for") {
  world w;
  put(w.in("f"),
      "ab\xe2\x82\xac"
      "c");
  read_request request;
  request.path = "f";
  request.max_bytes = 4;
  auto got = read_file(*w.roots, request, w.how);
  CHECK(got->data == "ab");
  CHECK(got->next_offset == 2);
  request.tail = tail_bytes::exact;
  CHECK(read_file(*w.roots, request, w.how)->data == "ab\xe2\x82");
  put(w.in("cut"), "ab\xe2\x82");
  CHECK(w.read("cut")->data == "ab\xe2\x82");
  put(w.in("binary"), "\xff\xfe\xe2\x82\xac");
  request.path = "binary";
  request.tail = tail_bytes::whole_characters;
  CHECK(read_file(*w.roots, request, w.how)->data.size() == 4);
}

TEST_CASE("read: lines") {
  world w;
  put(w.in("f"), "one\ntwo\r\nthree\nfour");
  read_request request;
  request.path = "f";
  request.lines = line_range(2, 2);
  auto got = read_file(*w.roots, request, w.how);
  REQUIRE(got);
  CHECK(got->data == "two\r\nthree\n");
  CHECK(got->offset == 4);
  CHECK_FALSE(got->eof);
  request.lines = line_range(4, 10);
  got = read_file(*w.roots, request, w.how);
  CHECK(got->data == "four");
  CHECK(got->eof);
  request.lines = line_range(50, 1);
  got = read_file(*w.roots, request, w.how);
  CHECK(got->data.empty());
  CHECK(got->eof);
  request.lines = line_range(1, 100);
  request.max_bytes = 6;
  CHECK(read_file(*w.roots, request, w.how)->data == "one\ntw");
  request.lines = line_range(0, 1);
  CHECK(kind_of(read_file(*w.roots, request, w.how)) == error_kind::invalid_params);
}

TEST_CASE("read: sparse files beyond 4 GiB cost only what is read") {
  world w;
  const sys::unique_fd fd(::open(w.in("big").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644));
  const std::int64_t far = (std::int64_t{5} << 30) + 7;
  REQUIRE(::pwrite(fd.get(), "end", 3, far) == 3);
  read_request request;
  request.path = "big";
  request.offset = far;
  const auto got = read_file(*w.roots, request, w.how);
  REQUIRE(got);
  CHECK(got->data == "end");
  CHECK(got->size == far + 3);
  CHECK(got->eof);
}

TEST_CASE("read: what is no regular file is refused and not disturbed") {
  world w;
  REQUIRE(::mkfifo(w.in("fifo").c_str(), 0666) == 0);
  REQUIRE(::mkdir(w.in("dir").c_str(), 0777) == 0);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "%s", w.in("socket").c_str());
  REQUIRE(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  // A writer that waits for a reader must go on waiting.
  std::atomic<bool> opened = false;
  std::thread writer([&] {
    const sys::unique_fd fd(::open(w.in("fifo").c_str(), O_WRONLY | O_CLOEXEC));
    opened = true;
  });
  for (const std::string name : {"fifo", "dir", "socket"}) {
    CAPTURE(name);
    CHECK(kind_of(w.read(name)) == error_kind::not_a_file);
    CHECK(kind_of(w.write(name, "x")) == error_kind::not_a_file);
    CHECK(kind_of(w.edit(name, "a", "b")) == error_kind::not_a_file);
    CHECK(kind_of(w.open(name, open_mode::read)) == error_kind::not_a_file);
    CHECK(kind_of(w.open(name, open_mode::write, true)) == error_kind::not_a_file);
  }
  CHECK_FALSE(opened);
  const sys::unique_fd reader(::open(w.in("fifo").c_str(), O_RDONLY | O_CLOEXEC));
  writer.join();
  ::close(listener);
}

TEST_CASE("read: files that say they are empty but are not") {
  auto opened = root_set::open({"/proc/self/"});  // which directories may be roots is not judged here
  REQUIRE(opened);
  read_request request;
  request.path = "status";
  const auto got = read_file(*opened, request, call());
  REQUIRE(got);
  CHECK(got->size == 0);
  CHECK(got->data.find("Name:") == 0);
  CHECK(got->eof);
  request.max_bytes = 10;
  CHECK_FALSE(read_file(*opened, request, call())->eof);
  request.path = "exe";
  CHECK(kind_of(read_file(*opened, request, call())) == error_kind::denied);
  request.path = "fd/0";
  CHECK(kind_of(read_file(*opened, request, call())) == error_kind::denied);
  request.path = "root/etc/passwd";
  CHECK(kind_of(read_file(*opened, request, call())) == error_kind::denied);
}

TEST_CASE("read: on the reactor only what is small and near") {
  world w;
  put(w.in("small"), "x");
  put(w.in("large"), std::string(200'000, 'x'));
  ::symlink("small", w.in("link").c_str());
  w.how.on_reactor = true;
  const auto small = w.read("small");
  const bool fast = w.roots->local() && sys::have_openat2();
  if (fast) CHECK(small->data == "x");
  if (!fast) CHECK(would_block(small.error()));
  CHECK(would_block(w.read("large").error()));
  CHECK(would_block(w.read("link").error()));
}

TEST_CASE("etag: stays while nothing changes, and tells changes within one tick of the clock") {
  world w;
  put(w.in("f"), "aaaa");
  const std::string first = w.read("f")->etag;
  CHECK(w.read("f")->etag == first);
  const sys::unique_fd fd(::open(w.in("f").c_str(), O_WRONLY | O_CLOEXEC));
  write_request request;
  request.path = "f";
  for (int round = 0; round < 200; ++round) {
    const std::string before = w.read("f")->etag;
    REQUIRE(::pwrite(fd.get(), round % 2 == 0 ? "bbbb" : "cccc", 4, 0) == 4);
    request.data = "never";
    request.if_match = before;
    CHECK(kind_of(write_file(*w.roots, request, w.how)) == error_kind::conflict);
  }
  const std::string etag = w.read("f")->etag;
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));  // the clock itself is what is tested
  CHECK(w.read("f")->etag != etag);                              // another form of the same state
  request.data = "done";
  request.if_match = etag;
  CHECK(write_file(*w.roots, request, w.how).has_value());
  request.if_match = "nonsense";
  CHECK(kind_of(write_file(*w.roots, request, w.how)) == error_kind::conflict);
}
