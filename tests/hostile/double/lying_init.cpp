// A first process that lies. It is what it should be (the real sbx-init, carried along) unless a root of its sandbox is
// called liar-MODE: then it does what that mode says.
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "daemon/sys/init_wire.hpp"

extern char** environ;

asm(".section .rodata\n"
    ".global real_init_begin\nreal_init_begin:\n.incbin \"" SBX_REAL_INIT
    "\"\n"
    ".global real_init_end\nreal_init_end:\n.previous\n");
extern "C" const char real_init_begin[], real_init_end[];

namespace {

namespace wire = sbx::sys::init_wire;

std::string read_file(const char* path) {
  std::string text;
  char block[4096];
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  for (ssize_t n = 0; fd >= 0 && (n = read(fd, block, sizeof block)) > 0;) text.append(block, static_cast<size_t>(n));
  if (fd >= 0) close(fd);
  return text;
}

[[noreturn]] void become_the_real_one(char** argv) {
  const int fd = memfd_create("sbx-init", MFD_CLOEXEC);
  for (const char* at = real_init_begin; at < real_init_end;) {
    const ssize_t n = write(fd, at, static_cast<size_t>(real_init_end - at));
    if (n <= 0) _exit(90);
    at += n;
  }
  fexecve(fd, argv, environ);
  _exit(91);
}

void say(int to, wire::message type, std::uint32_t serial, const void* body, std::uint32_t bytes, int fd = -1) {
  wire::header head = {type, bytes, serial, fd >= 0 ? 1U : 0U};
  iovec parts[2] = {{&head, sizeof head}, {const_cast<void*>(body), body ? bytes : 0}};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
  msghdr message = {};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  }
  static_cast<void>(sendmsg(to, &message, MSG_NOSIGNAL));
}

// A header and what follows, from the stream of control or as a packet of a leash; the first descriptor, if any, in
// `fd`. False at the end.
bool hear(int from, wire::header& head, int& fd) {
  static char body[wire::packet_bytes_max];
  int type = SOCK_STREAM;
  socklen_t length = sizeof type;
  getsockopt(from, SOL_SOCKET, SO_TYPE, &type, &length);
  iovec parts[2] = {{&head, sizeof head}, {body, type == SOCK_STREAM ? 0 : sizeof body}};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 16)];
  msghdr message = {};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  fd = -1;
  if (recvmsg(from, &message, MSG_WAITALL) < static_cast<ssize_t>(sizeof head)) return false;
  if (const cmsghdr* rights = CMSG_FIRSTHDR(&message)) memcpy(&fd, CMSG_DATA(rights), sizeof fd);
  if (type != SOCK_STREAM || head.bytes == 0) return true;
  return head.bytes <= sizeof body && recv(from, body, head.bytes, MSG_WAITALL) == static_cast<ssize_t>(head.bytes);
}

[[noreturn]] void stall() {
  for (;;) pause();
}

void noise(int to, int times) {
  char block[8192];
  for (int i = 0; i < times; ++i) {
    for (char& c : block) c = static_cast<char>(rand());
    if (write(to, block, sizeof block) <= 0) return;
  }
}

void answer_spawn(const std::string& mode, int control, int leash, std::uint32_t serial) {
  const wire::started started = {4242};
  wire::exited exited = {};
  if (mode == "mute-spawn") return;
  if (mode == "die-spawn") _exit(0);
  if (mode == "noise-leash") noise(leash, 200);
  if (mode == "exit-first") say(leash, wire::message::exited, serial, &exited, sizeof exited);
  if (mode == "wrong-serial") say(leash, wire::message::started, serial + 77, &started, sizeof started);
  if (mode == "ready-twice") say(control, wire::message::ready, 1, nullptr, 0);
  if (mode == "huge") say(leash, static_cast<wire::message>(48), serial, nullptr, 0xffffffffU);
  if (mode == "flood") {
    for (;;) say(leash, wire::message::started, serial, &started, sizeof started);
  }
  if (mode == "negative-pid") {
    const wire::started wrong = {-1};
    say(leash, wire::message::started, serial, &wrong, sizeof wrong);
  }
  if (mode == "many-exits") {
    say(leash, wire::message::started, serial, &started, sizeof started);
    for (int i = 0; i < 100000; ++i) say(leash, wire::message::exited, serial, &exited, sizeof exited);
  }
  if (mode == "mad-reason") {
    const wire::spawn_failed mad = {static_cast<wire::stage>(9999), static_cast<wire::reason>(12345), 99999};
    say(leash, wire::message::spawn_failed, serial, &mad, sizeof mad);
  }
}

[[noreturn]] void lie(const std::string& mode, int control) {
  if (mode == "silent") stall();
  if (mode == "die") _exit(0);
  if (mode == "noise") noise(control, 100000), stall();
  wire::header head = {};
  int fd = -1;
  if (!hear(control, head, fd)) _exit(0);
  wire::ready ready = {wire::version, getuid(), getgid(), 0};
  if (mode == "wrong-version") ready.version = 99;
  int extra = -1;
  if (mode == "false-devpts") ready.has_devpts = 1, extra = open("/", O_PATH | O_DIRECTORY);
  say(control, wire::message::ready, head.serial, &ready, sizeof ready, extra);
  std::vector<pollfd> all = {{control, POLLIN, 0}};
  while (poll(all.data(), all.size(), -1) >= 0) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].revents == 0) continue;
      if (!hear(all[i].fd, head, fd)) {
        if (i == 0) _exit(0);
        close(all[i].fd);
        all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
        break;
      }
      if (head.type == wire::message::anchor && fd >= 0) {
        if (mode == "die-anchor") _exit(0);
        all.push_back({fd, POLLIN, 0});
        break;
      }
      if (head.type == wire::message::spawn) answer_spawn(mode, control, all[i].fd, head.serial);
    }
  }
  _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mounts = read_file("/proc/self/mountinfo");
  const auto at = mounts.find("/roots/liar-");
  if (at == std::string::npos) become_the_real_one(argv);
  const auto begin = at + std::strlen("/roots/liar-");
  int control = -1;
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], "--control") == 0) control = std::atoi(argv[i + 1]);
  }
  lie(mounts.substr(begin, mounts.find_first_of(" \n", begin) - begin), control);
}
