#include "client/places.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>

namespace sbx::client {
namespace {

bool is_own_directory(const std::string& path) {
  struct stat st;
  return ::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == ::geteuid();
}

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? value : nullptr;
}

}  // namespace

outcome<std::string> runtime_directory() {
  if (const char* given = environment("XDG_RUNTIME_DIR")) return std::string(given);
  const std::string users = "/run/user/" + std::to_string(::geteuid());
  if (is_own_directory(users)) return users;
  if (::geteuid() == 0) return std::string("/run");
  return fail(exit_unavailable,
              "There is no runtime directory: XDG_RUNTIME_DIR is not set and " + users + " is not ours.",
              "set XDG_RUNTIME_DIR, or say --socket PATH");
}

outcome<std::string> socket_path(std::string_view given) {
  std::string path(given);
  if (path.empty()) {
    if (const char* named = environment("SBX_SOCKET")) path = named;
  }
  if (path.empty()) {
    auto directory = runtime_directory();
    if (!directory) return directory;
    path = *directory + "/sbxd/sbxd.sock";
  }
  if (path.front() != '/') {
    char here[PATH_MAX];
    if (::getcwd(here, sizeof(here))) path = std::string(here) + "/" + path;
  }
  return path;
}

std::string token_file_name(std::string_view socket) {
  std::string name;
  for (const char c : socket) {
    if (c == '/')
      name += "%2F";
    else if (c == '%')
      name += "%25";
    else
      name += c;
  }
  return name;
}

outcome<token_store> token_store::open(std::string_view socket) {
  auto runtime = runtime_directory();
  if (!runtime) return fail(std::move(runtime.error()));
  const std::string path = *runtime + "/sbxctl";
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return fail(system_failure(errno, "Making " + path));
  token_store made;
  made.directory_.reset(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!made.directory_) return fail(system_failure(errno, "Opening " + path));
  struct stat st;
  if (::fstat(made.directory_.get(), &st) != 0) return fail(system_failure(errno, "Looking at " + path));
  if (st.st_uid != ::geteuid() || (st.st_mode & 022) != 0)
    return fail(exit_unavailable, path + " is not a directory of our own that only we can write.", "remove it");
  made.name_ = token_file_name(socket);
  return made;
}

std::string token_store::read() const {
  const sys::unique_fd file(::openat(directory_.get(), name_.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  char text[128];
  const ssize_t size = file ? ::read(file.get(), text, sizeof(text)) : -1;
  if (size <= 0) return {};
  std::string token(text, static_cast<std::size_t>(size));
  while (!token.empty() && token.back() == '\n') token.pop_back();
  return token;
}

outcome<void> token_store::write(const std::string& token) const {
  const std::string temporary = "." + std::to_string(::getpid()) + ".new";
  ::unlinkat(directory_.get(), temporary.c_str(), 0);
  const sys::unique_fd file(
      ::openat(directory_.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  const std::string text = token + "\n";
  const bool written = file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (written && ::renameat(directory_.get(), temporary.c_str(), directory_.get(), name_.c_str()) == 0) return {};
  const int number = errno;
  ::unlinkat(directory_.get(), temporary.c_str(), 0);
  return fail(system_failure(number, "Remembering the session"));
}

void token_store::lock() const {
  while (::flock(directory_.get(), LOCK_EX) != 0 && errno == EINTR) {
  }
}

}  // namespace sbx::client
