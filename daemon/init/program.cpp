#include "daemon/init/program.hpp"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sbx::init {

namespace {

// A regular file that may be executed: then it is its interpreter or loader that could not be.
bool is_program(const char* path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

wire::reason reason_of(int error, const char* path) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG:
    case ELOOP:
      return is_program(path) ? wire::reason::bad_interpreter : wire::reason::not_found;
    case EACCES:
      return is_program(path) ? wire::reason::bad_interpreter : wire::reason::not_executable;
    case EPERM:
    case ETXTBSY:
    case EISDIR:
      return wire::reason::not_executable;
    case ENOEXEC:
    case ELIBBAD:
    case EINVAL:
      return wire::reason::bad_format;
    case E2BIG:
      return wire::reason::too_big;
    case ENOMEM:
    case EAGAIN:
    case EMFILE:
    case ENFILE:
      return wire::reason::resources;
    default:
      return wire::reason::other;
  }
}

wire::spawn_failed failed(int error, wire::reason reason) {
  return {wire::stage::exec, reason, error};
}

const char* path_in(char** environment) {
  for (; *environment; ++environment)
    if (strncmp(*environment, "PATH=", 5) == 0) return *environment + 5;
  return "/usr/local/bin:/usr/bin:/bin";
}

// "DIRECTORY/NAME", or NAME alone for an empty element: the current directory. False when it does not fit.
bool join(char (&into)[8192], const char* directory, std::size_t length, const char* name) {
  const std::size_t name_length = strlen(name);
  if (length + name_length + 2 > sizeof into) return false;
  memcpy(into, directory, length);
  if (length > 0) into[length++] = '/';
  memcpy(into + length, name, name_length + 1);
  return true;
}

}  // namespace

wire::spawn_failed execute(char** argv, char** environment, const char* search_path) {
  const char* const name = argv[0];
  if (strchr(name, '/')) {
    execve(name, argv, environment);
    const int error = errno;
    return failed(error, reason_of(error, name));
  }
  if (!*name) return failed(ENOENT, wire::reason::not_found);
  // The first that can be executed; what was found but may not be is told when nothing better comes.
  wire::spawn_failed answer = failed(ENOENT, wire::reason::not_found);
  char candidate[8192];
  for (const char* at = *search_path ? search_path : path_in(environment);; ++at) {
    const std::size_t length = strcspn(at, ":");
    if (join(candidate, at, length, name)) {
      execve(candidate, argv, environment);
      const int error = errno;
      const wire::reason reason = reason_of(error, candidate);
      if (reason == wire::reason::not_executable) answer = failed(error, reason);
      if (reason != wire::reason::not_found && reason != wire::reason::not_executable) return failed(error, reason);
    }
    at += length;
    if (!*at) return answer;
  }
}

}  // namespace sbx::init
