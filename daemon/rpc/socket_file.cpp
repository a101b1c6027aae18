#include "daemon/rpc/socket_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace sbx::rpc {

namespace {

constexpr std::size_t path_bytes_max = sizeof(sockaddr_un::sun_path) - 1;

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

const sockaddr* generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

bool is_own_directory(const std::string& path, uid_t uid) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == uid;
}

// Every missing directory above the socket, each 0700 whatever the umask.
result<void> make_directories(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string directory = path.substr(0, slash);
    if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST && errno != EISDIR)
      return fail_system(errno, "making the directory", directory);
  }
  return {};
}

// Nobody else may own the directory: its owner could put another socket in our place.
result<void> check_directory(const std::string& path) {
  const std::string directory = path.substr(0, path.rfind('/'));
  struct stat info {};
  if (::stat(directory.empty() ? "/" : directory.c_str(), &info) != 0)
    return fail_system(errno, "looking at the directory", directory);
  if (info.st_uid != ::geteuid() && info.st_uid != 0)
    return fail(error_kind::denied, "The directory " + directory + " belongs to another user.");
  return {};
}

error held(const std::string& path) {
  return error(error_kind::conflict, "Another sbxd is running on " + path + ".");
}

}  // namespace

result<std::string> default_socket_path(const char* runtime_dir, uid_t uid) {
  const std::string file = "/sbxd/sbxd.sock";
  if (runtime_dir != nullptr && runtime_dir[0] == '/') {
    if (is_own_directory(runtime_dir, uid)) return runtime_dir + file;
    return fail(error_kind::unsupported,
                std::string("XDG_RUNTIME_DIR is ") + runtime_dir +
                    ", which is no directory of yours; say --socket where the socket should lie.");
  }
  const std::string of_user = "/run/user/" + std::to_string(uid);
  if (is_own_directory(of_user, uid)) return of_user + file;
  if (uid == 0) return "/run" + file;
  return fail(error_kind::unsupported,
              "XDG_RUNTIME_DIR is not set and " + of_user + " is not yours; say --socket where the socket should lie.");
}

result<socket_file> socket_file::bind(const std::string& path) {
  if (path.size() > path_bytes_max)
    return fail(error(error_kind::too_large, "The socket path is too long: " + std::to_string(path.size()) +
                                                 " bytes, where the system takes " + std::to_string(path_bytes_max) +
                                                 "."));
  if (path.empty() || path.find('\0') != std::string::npos)
    return fail(error_kind::invalid_params, "The socket path is empty or holds a NUL.");
  socket_file made;
  made.path_ = path;
  if (auto done = make_directories(path); !done) return tl::unexpected(done.error());
  if (auto done = check_directory(path); !done) return tl::unexpected(done.error());
  if (auto done = made.lock(); !done) return tl::unexpected(done.error());
  if (auto done = made.clear_stale(); !done) return tl::unexpected(done.error());
  if (auto done = made.make_socket(); !done) return tl::unexpected(done.error());
  return made;
}

result<socket_file> socket_file::adopt(sys::unique_fd listener) {
  socket_file made;
  made.listener_ = std::move(listener);
  sockaddr_un address{};
  socklen_t size = sizeof address;
  if (::getsockname(made.listener_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return fail_system(errno, "asking for the address of the socket handed over");
  if (address.sun_family != AF_UNIX) return fail(error_kind::unsupported, "The socket handed over is no Unix socket.");
  address.sun_path[path_bytes_max] = '\0';
  if (size > offsetof(sockaddr_un, sun_path) && address.sun_path[0] == '/') {
    made.path_ = address.sun_path;
    if (auto done = made.lock(); !done) return tl::unexpected(done.error());
  }
  return made;
}

result<void> socket_file::lock() {
  const std::string name = path_ + ".lock";
  lock_ = sys::unique_fd(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!lock_) return fail_system(errno, "opening the lock", name);
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) == 0) return {};
  if (errno == EWOULDBLOCK) return fail(held(path_));
  return fail_system(errno, "locking", name);
}

result<void> socket_file::clear_stale() const {
  struct stat info {};
  if (::lstat(path_.c_str(), &info) != 0) {
    if (errno == ENOENT) return {};
    return fail_system(errno, "looking at", path_);
  }
  if (!S_ISSOCK(info.st_mode))
    return fail(error_kind::conflict, path_ + " exists and is no socket; it was left alone.");
  const sys::unique_fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe) return fail_system(errno, "making a socket");
  const sockaddr_un address = address_of(path_);
  if (::connect(probe.get(), generic(address), sizeof address) == 0 || errno == EAGAIN) return fail(held(path_));
  if (errno != ECONNREFUSED) return fail_system(errno, "trying the socket that lies at", path_);
  if (::unlink(path_.c_str()) != 0 && errno != ENOENT) return fail_system(errno, "removing the stale socket", path_);
  return {};
}

result<void> socket_file::make_socket() {
  listener_ = sys::unique_fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener_) return fail_system(errno, "making a socket");
  // Before bind: the file takes its mode from the socket (unix(7)), so it is never anything else.
  if (::fchmod(listener_.get(), 0600) != 0) return fail_system(errno, "closing the socket to others");
  const sockaddr_un address = address_of(path_);
  if (::bind(listener_.get(), generic(address), sizeof address) != 0) return fail_system(errno, "binding", path_);
  struct stat info {};
  if (::lstat(path_.c_str(), &info) != 0) return fail_system(errno, "looking at", path_);
  bound_ = true;
  device_ = info.st_dev;
  inode_ = info.st_ino;
  if (::listen(listener_.get(), SOMAXCONN) != 0) return fail_system(errno, "listening on", path_);
  return {};
}

void socket_file::remove() {
  if (!bound_) return;
  bound_ = false;
  struct stat info {};
  if (::lstat(path_.c_str(), &info) != 0 || info.st_dev != device_ || info.st_ino != inode_) return;
  ::unlink(path_.c_str());
}

}  // namespace sbx::rpc
