// sbxctl: the client of sbxd for people and scripts.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "client/verbs.hpp"

namespace {

// Descriptors 0 to 2 are something, so that nothing opened later becomes one of them.
void fill_standard_fds() {
  for (int fd = 0; fd <= 2; ++fd)
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF) ::open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY);
}

}  // namespace

int main(int argc, char** argv) {
  fill_standard_fds();
  return sbx::client::run_command_line(argc, argv);
}
