#include "tests/bench/files.hpp"

#include <unistd.h>

#include <cstdlib>

#include "tests/support/harness/daemon.hpp"

namespace sbx::bench {

using test::json;

namespace {

void reading(report& table, test::world& w) {
  test::write_file(w.root + "/small", std::string(4096, 'x'));
  test::write_file(w.root + "/large", std::string(10 << 20, 'y'));
  const auto small = [&] { w.c.call("fs.read", {{"workspace", w.workspace}, {"path", "small"}}); };
  const auto ping = [&] { w.c.call("system.ping"); };
  const auto found = take_turns(2000, 0, {small, ping});
  table.add({"fs.read of 4 KiB p50 / system.ping", us(found[0].p50), us(found[1].p50), found[0].p50 / found[1].p50, 1.5,
             " x"});

  const auto opened = [&] {
    w.c.call("fs.open", {{"workspace", w.workspace}, {"path", "large"}, {"flags", "r"}});
    const sys::unique_fd fd = std::move(w.c.received.front());
    w.c.received.pop_front();
    std::string bytes(10 << 20, '\0');
    std::size_t got = 0;
    for (ssize_t n = 0; (n = ::read(fd.get(), bytes.data() + got, bytes.size() - got)) > 0;)
      got += static_cast<std::size_t>(n);
    if (got != bytes.size()) std::abort();
  };
  const auto chunks = [&] {
    for (std::int64_t offset = 0; offset < 10 << 20;) {
      const json got = w.c.call(
          "fs.read", {{"workspace", w.workspace}, {"path", "large"}, {"offset", offset}, {"max_bytes", 4 << 20}});
      offset = got["next_offset"];
    }
  };
  const auto large = take_turns(20, 0, {opened, chunks});
  table.add({"10 MiB by fs.open", us(large[0].p50), "", large[0].p50 / 1e3, 25, " ms"});
  table.add({"10 MiB by fs.read of 4 MiB each", us(large[1].p50), "", large[1].p50 / 1e3, 75, " ms"});
}

void searching(report& table, test::world& w) {
  const std::string include =
      w.c.call("workspace.open", {{"roots", {"/usr/include"}}, {"backend", "none"}})["workspace"];
  const auto glob = [&] { w.c.call("fs.glob", {{"workspace", include}, {"pattern", "**/*.h"}, {"limit", 10000}}); };
  const auto find = [] { test::run({"find", "/usr/include", "-name", "*.h"}); };
  const auto globbed = take_turns(7, 0, {glob, find});
  table.add({"fs.glob **/*.h over /usr/include / find", us(globbed[0].p50), us(globbed[1].p50),
             globbed[0].p50 / globbed[1].p50, 2, " x"});
  const auto grep = [&] { w.c.call("fs.grep", {{"workspace", include}, {"pattern", "rendezvous"}, {"limit", 10000}}); };
  const auto grep_tool = [] { test::run({"grep", "-rnI", "rendezvous", "/usr/include"}); };
  const auto grepped = take_turns(7, 0, {grep, grep_tool});
  table.add({"fs.grep of a word over /usr/include / grep -r", us(grepped[0].p50), us(grepped[1].p50),
             grepped[0].p50 / grepped[1].p50, 2, " x"});
}

}  // namespace

void measure_files(report& table) {
  test::world w({}, {{"backend", "none"}});
  reading(table, w);
  searching(table, w);
}

}  // namespace sbx::bench
