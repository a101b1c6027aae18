#include "daemon/sandbox/init_body.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>

namespace sbx::sandbox {

result<control_pair> make_control_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return fail_system(errno, "making a control socket");
  control_pair pair;
  pair.ours.reset(ends[0]);
  pair.inits.reset(ends[1]);
  if (::fcntl(pair.ours.get(), F_SETFL, O_NONBLOCK) != 0) return fail_system(errno, "making a control socket");
  return pair;
}

}  // namespace sbx::sandbox
