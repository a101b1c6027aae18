#include "daemon/sandbox/container_link.hpp"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <cstring>
#include <optional>

#include "tests/unit/sandbox/temporary_directory.hpp"

namespace sbx::sandbox {
namespace {

namespace asio = async::asio;

sys::unique_fd connect_to(const std::string& path) {
  sys::unique_fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  REQUIRE(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  return socket;
}

TEST_CASE("container_link: anyone may reach it who sees the directory, and its files go with it") {
  const temporary_directory here;
  asio::io_context context;
  auto made = container_link::make(context, here.path());
  REQUIRE(made);
  struct stat status {};
  REQUIRE(::stat((*made)->directory().c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0711);
  REQUIRE(::stat(((*made)->directory() + "/control").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0666);
  CHECK((*made)->add_file("passwd", "x"));
  made->reset();
  CHECK(std::filesystem::is_empty(here.path()));
}

TEST_CASE("container_link: only the process it waits for is let in") {
  const temporary_directory here;
  asio::io_context context;
  auto made = container_link::make(context, here.path());
  REQUIRE(made);
  const std::string socket = (*made)->directory() + "/control";
  const pid_t stranger = ::fork();
  if (stranger == 0) {
    const auto connection = connect_to(socket);
    char byte;
    ::_exit(::read(connection.get(), &byte, 1) == 0 ? 0 : 1);
  }
  ::usleep(50'000);
  const auto ours = connect_to(socket);
  std::optional<result<sys::unique_fd>> answer;
  asio::co_spawn(context, (*made)->accept_from(::getpid()),
                 [&](std::exception_ptr, result<sys::unique_fd> got) { answer.emplace(std::move(got)); });
  context.run_for(std::chrono::seconds(5));
  REQUIRE(answer);
  CHECK(answer->has_value());
  int status = 1;
  CHECK(::waitpid(stranger, &status, 0) == stranger);
  CHECK(status == 0);
}

TEST_CASE("container_link: init's reason is one short clean line") {
  const temporary_directory here;
  asio::io_context context;
  auto made = container_link::make(context, here.path());
  REQUIRE(made);
  CHECK((*made)->reason().empty());
  FILE* file = std::fopen(((*made)->directory() + "/reason").c_str(), "w");
  std::fputs("no /proc\x1b[0m\nsecond\n", file);
  std::fclose(file);
  CHECK((*made)->reason() == "no /proc [0m");
}

TEST_CASE("container_link: what an earlier daemon left is swept, and nothing else") {
  const temporary_directory here;
  std::filesystem::create_directory(here.path() / "link-old");
  std::filesystem::create_directory(here.path() / "copies");
  sweep_links(here.path());
  CHECK_FALSE(std::filesystem::exists(here.path() / "link-old"));
  CHECK(std::filesystem::exists(here.path() / "copies"));
}

}  // namespace
}  // namespace sbx::sandbox
