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
  auto made = container_link::make(context, here.path(), "link-", {"rm", "x y"});
  REQUIRE(made);
  struct stat status {};
  REQUIRE(::stat((*made)->shown_directory().c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0711);
  REQUIRE(::stat(((*made)->shown_directory() + "/control").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0666);
  CHECK((*made)->add_file("passwd", "x"));
  made->reset();
  CHECK(std::filesystem::is_empty(here.path()));
}

TEST_CASE("container_link: only the process it waits for is let in") {
  const temporary_directory here;
  asio::io_context context;
  auto made = container_link::make(context, here.path(), "link-", {"rm", "x y"});
  REQUIRE(made);
  const std::string socket = (*made)->shown_directory() + "/control";
  const pid_t stranger = ::fork();
  if (stranger == 0) {
    const auto connection = connect_to(socket);
    char byte;
    ::_exit(::read(connection.get(), &byte, 1) == 0 ? 0 : 1);
  }
  ::usleep(50'000);
  const auto ours = connect_to(socket);
  std::optional<result<container_link::peer>> answer;
  asio::co_spawn(context, (*made)->accept_from(::getpid()),
                 [&](std::exception_ptr, result<container_link::peer> got) { answer.emplace(std::move(got)); });
  context.run_for(std::chrono::seconds(5));
  REQUIRE(answer);
  REQUIRE(answer->has_value());
  CHECK((*answer)->uid == ::geteuid());
  int status = 1;
  CHECK(::waitpid(stranger, &status, 0) == stranger);
  CHECK(status == 0);
}

TEST_CASE("container_link: init's reason is one short clean line") {
  const temporary_directory here;
  asio::io_context context;
  auto made = container_link::make(context, here.path(), "link-", {"rm", "x y"});
  REQUIRE(made);
  CHECK((*made)->reason().empty());
  FILE* file = std::fopen(((*made)->shown_directory() + "/reason").c_str(), "w");
  std::fputs("no /proc\x1b[0m\nsecond\n", file);
  std::fclose(file);
  CHECK((*made)->reason() == "no /proc [0m");
}

TEST_CASE("container_link: what an earlier daemon left is found and removed, and nothing else") {
  const temporary_directory here;
  asio::io_context context;
  auto made = container_link::make(context, here.path(), "link-", {"rm", "x y"});
  REQUIRE(made);
  std::filesystem::create_directory(here.path() / "copies");
  CHECK(find_left_links(here.path(), "other-").empty());
  CHECK(find_left_links(here.path(), "link-") == std::vector<std::vector<std::string>>{{"rm", "x y"}});
  remove_left_links(here.path(), "link-");
  CHECK_FALSE(std::filesystem::exists((*made)->shown_directory()));
  CHECK(std::filesystem::exists(here.path() / "copies"));
}

}  // namespace
}  // namespace sbx::sandbox
