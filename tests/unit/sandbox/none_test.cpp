#include "daemon/sandbox/none.hpp"

#include <signal.h>

#include "tests/unit/sandbox/test_host.hpp"

namespace sbx::sandbox {
namespace {

spec plain() {
  spec wanted;
  wanted.workspace = "ws-test";
  wanted.backend = backend_kind::none;
  wanted.network.mode = network_spec::mode::host;
  return wanted;
}

TEST_CASE("none: commands run on the host, as the daemon's user") {
  test_host host;
  auto made = host.launch(plain());
  REQUIRE_MESSAGE(made, made.error().message);
  CHECK(host.sh(**made, "id -u; pwd", "/tmp").out == std::to_string(::geteuid()) + "\n/tmp\n");
  CHECK((*made)->host_pid());
  CHECK_FALSE((*made)->container());
  const auto terminal = (*made)->open_terminal();
  REQUIRE(terminal);
  CHECK(::isatty(terminal->slave.get()) == 1);
}

TEST_CASE("none: its end takes along what it started, double forks too") {
  test_host host;
  auto made = host.launch(plain());
  REQUIRE(made);
  const auto pid = std::stoi(host.sh(**made, "setsid sh -c 'setsid sleep 600 >/dev/null 2>&1 & echo $!'").out);
  (*made)->end();
  host.await((*made)->wait_ended());
  CHECK(::kill(pid, 0) != 0);
}

TEST_CASE("none: it promises no wall") {
  test_host host;
  auto& backend = host.of(backend_kind::none);
  CHECK(backend.accepts(plain()));
  spec wanted = plain();
  wanted.network.mode = network_spec::mode::none;
  CHECK_FALSE(backend.accepts(wanted));
  wanted = plain();
  wanted.limits.tmp_bytes = 1;
  CHECK_FALSE(backend.accepts(wanted));
  CHECK(host.await(backend.probe()).available);
}

TEST_CASE("none: without sbx-init it cannot start, and says so") {
  backend_options options;
  options.init_path = "/nonexistent";
  test_host host(options);
  const auto made = host.launch(plain());
  REQUIRE_FALSE(made);
  CHECK(made.error().kind == error_kind::sandbox_unavailable);
}

}  // namespace
}  // namespace sbx::sandbox
