// sbx-init: the first process of every sandbox.
//   sbx-init --control FD [--subreaper]                    the control socket is inherited
//   sbx-init --connect PATH --failure-file PATH            the control socket is made by connecting (containers)
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <initializer_list>

#include "daemon/init/init.hpp"

namespace {

const char* failure_file = nullptr;

[[noreturn]] void die(const char* doing, int error) {
  const char* what = error ? strerrordesc_np(error) : "";
  char text[512];
  size_t length = 0;
  for (const char* part : {"sbx-init: ", doing, error ? ": " : "", what ? what : "unknown error", "\n"})
    for (; *part && length < sizeof text; ++part) text[length++] = *part;
  int fd = 2;
  if (failure_file) fd = open(failure_file, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
  if (fd >= 0 && write(fd, text, length) < 0) _exit(2);
  _exit(1);
}

int connect_control(const char* path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (strlen(path) >= sizeof address.sun_path) die("the socket path is too long", 0);
  strcpy(address.sun_path, path);
  const int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made < 0) die("making a socket", errno);
  if (connect(made, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) die("connecting to the daemon", errno);
  return made;
}

// Descriptors: 0–2 on /dev/null, the control socket at 3, nothing else.
int arrange_descriptors(int control) {
  if (control != 3 && (dup2(control, 3) < 0)) die("placing the control socket", errno);
  fcntl(3, F_SETFD, FD_CLOEXEC);
  close_range(4, ~0u, 0);
  const int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) {
    if (null >= 0) {
      dup2(null, fd);
    } else {
      close(fd);  // an image without /dev/null; anchors place descriptors over these before any exec
    }
  }
  if (null > 3) close(null);
  return 3;
}

// Commands start with everything at default; nothing asynchronous reaches us but while we wait.
void arrange_signals() {
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  for (int number = 1; number <= 64; ++number) sigaction(number, &standard, nullptr);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
}

// We survive memory pressure by being small: what we start is to be killed first, so children inherit this.
void raise_oom_score() {
  const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  if (write(fd, "500", 3) < 0) { /* a container may forbid it: nothing depends on it */
  }
  close(fd);
}

// For our own leashes; commands get back what was.
rlimit raise_descriptor_limit() {
  rlimit before = {};
  if (getrlimit(RLIMIT_NOFILE, &before) == 0) {
    const rlimit raised = {before.rlim_max, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &raised);
  }
  return before;
}

}  // namespace

int main(int argc, char** argv) {
  sbx::init::options options;
  const char* socket_path = nullptr;
  bool subreaper = false;
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--subreaper") == 0) {
      subreaper = true;
    } else if (i + 1 < argc && strcmp(argv[i], "--control") == 0) {
      options.control = atoi(argv[++i]);
    } else if (i + 1 < argc && strcmp(argv[i], "--connect") == 0) {
      socket_path = argv[++i];
    } else if (i + 1 < argc && strcmp(argv[i], "--failure-file") == 0) {
      failure_file = argv[++i];
    } else {
      die("unknown option", 0);
    }
  }
  if (socket_path) options.control = connect_control(socket_path);
  if (options.control < 0) die("no control socket was named", 0);
  options.whole_namespace = getpid() == 1;
  if (!options.whole_namespace && !subreaper) die("this is not the first process of a pid namespace", 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (subreaper) setsid();
  if (chdir("/") != 0) die("entering /", errno);
  options.control = arrange_descriptors(options.control);
  arrange_signals();
  raise_oom_score();
  options.descriptors = raise_descriptor_limit();
  prctl(PR_SET_DUMPABLE, 0);
  sbx::init::run_init(options);
}
