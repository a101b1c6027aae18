#include "daemon/sandbox/terminal.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace sbx::sandbox {
namespace {

// TIOCGPTPEER (Linux 4.13) opens the slave by its master, whatever the paths on either side of the wall.
result<sys::unique_fd> open_slave(sys::fd_ref master) {
  int locked = 0;
  if (::ioctl(master.get(), TIOCSPTLCK, &locked) != 0) return fail_system(errno, "unlocking a terminal");
  sys::unique_fd slave(::ioctl(master.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!slave) return fail_system(errno, "opening a terminal");
  return slave;
}

}  // namespace

result<sandbox::terminal_pair> open_terminal_in(sys::fd_ref devpts, std::optional<uid_t> owner) {
  constexpr int flags = O_RDWR | O_NOCTTY | O_CLOEXEC;
  sandbox::terminal_pair pair;
  pair.master.reset(devpts ? ::openat(devpts.get(), "ptmx", flags | O_NOFOLLOW) : ::open("/dev/ptmx", flags));
  if (!pair.master) return fail_system(errno, "making a terminal");
  auto slave = open_slave(pair.master);
  if (!slave) return fail(std::move(slave.error()));
  pair.slave = std::move(*slave);
  struct stat status {};
  if (!owner || (::fstat(pair.slave.get(), &status) == 0 && status.st_uid == *owner)) return pair;
  if (::fchown(pair.slave.get(), *owner, static_cast<gid_t>(-1)) != 0 && ::fchmod(pair.slave.get(), 0666) != 0)
    return fail_system(errno, "giving a terminal to its user");
  return pair;
}

}  // namespace sbx::sandbox
