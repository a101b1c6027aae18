#include "daemon/sandbox/container_link.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <cstdio>

#include "daemon/sandbox/unavailable.hpp"

namespace sbx::sandbox {
namespace {

namespace asio = async::asio;
constexpr std::string_view prefix = "link-";

std::string random_name() {
  std::array<unsigned char, 8> bytes{};
  [[maybe_unused]] const ssize_t length = ::getrandom(bytes.data(), bytes.size(), 0);
  std::string name(prefix);
  for (const unsigned char byte : bytes) {
    name += "0123456789abcdef"[byte >> 4];
    name += "0123456789abcdef"[byte & 15];
  }
  return name;
}

// Bound through the directory's descriptor, so that no path is too long for sun_path.
result<sys::unique_fd> listen_in(sys::fd_ref directory) {
  sys::unique_fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener) return fail_system(errno, "making a socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/control", directory.get());
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::fchmodat(directory.get(), "control", 0666, 0) != 0 || ::listen(listener.get(), 64) != 0)
    return fail_system(errno, "making a container's socket");
  return listener;
}

result<void> make_file(sys::fd_ref directory, const std::string& name, std::string_view content, mode_t mode) {
  const sys::unique_fd file(
      ::openat(directory.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) return fail_system(errno, "making a container's file", name);
  if (::write(file.get(), content.data(), content.size()) != static_cast<ssize_t>(content.size()) ||
      ::fchmod(file.get(), mode) != 0)
    return fail_system(errno, "writing a container's file", name);
  return {};
}

void remove_directory(const std::string& path) {
  const sys::unique_fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(::dup(directory.get())), ::closedir);
  while (const dirent* entry = entries ? ::readdir(entries.get()) : nullptr)
    ::unlinkat(directory.get(), entry->d_name, 0);
  ::rmdir(path.c_str());
}

}  // namespace

result<std::unique_ptr<container_link>> container_link::make(asio::io_context& context, const std::string& beneath) {
  const std::string path = beneath + "/" + random_name();
  if (::mkdir(path.c_str(), 0700) != 0) return fail_system(errno, "making a container's directory", path);
  sys::unique_fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  auto listener = directory ? listen_in(directory) : fail_system(errno, "opening a container's directory", path);
  const auto reason = listener ? make_file(directory, "reason", "", 0666) : result<void>();
  if (!listener || !reason || ::fchmod(directory.get(), 0711) != 0) {
    remove_directory(path);
    if (!listener) return fail(std::move(listener.error()));
    return fail_system(errno, "making a container's directory", path);
  }
  return std::unique_ptr<container_link>(new container_link(context, path, std::move(directory), std::move(*listener)));
}

container_link::container_link(asio::io_context& context, std::string directory, sys::unique_fd directory_fd,
                               sys::unique_fd listener)
    : directory_(std::move(directory)),
      directory_fd_(std::move(directory_fd)),
      listener_(context, listener.release()) {}

container_link::~container_link() {
  close();
}

void container_link::close() {
  boost::system::error_code ignored;
  listener_.close(ignored);
  if (!directory_.empty()) remove_directory(directory_);
  directory_.clear();
}

result<std::string> container_link::add_file(const std::string& name, const std::string& content) {
  if (auto made = make_file(directory_fd_, name, content, 0644); !made) return fail(std::move(made.error()));
  return directory_ + "/" + name;
}

result<std::string> container_link::add_copy(const std::string& name, sys::fd_ref content, mode_t mode) {
  if (auto made = make_file(directory_fd_, name, "", mode | 0200); !made) return fail(std::move(made.error()));
  const sys::unique_fd file(::openat(directory_fd_.get(), name.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
  off_t offset = 0;
  for (ssize_t length = 1; file && length > 0;) {
    length = ::sendfile(file.get(), content.get(), &offset, std::size_t{64} << 20);
    if (length < 0) return fail_system(errno, "copying into a container's file", name);
  }
  if (!file) return fail_system(errno, "opening a container's file", name);
  return directory_ + "/" + name;
}

async::task<result<sys::unique_fd>> container_link::accept_from(pid_t pid) {
  for (;;) {
    boost::system::error_code failed;
    co_await listener_.async_wait(asio::posix::stream_descriptor::wait_read,
                                  asio::redirect_error(asio::use_awaitable, failed));
    if (failed) co_return fail(error_kind::cancelled, "no longer waiting for a container");
    sys::unique_fd peer(::accept4(listener_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!peer && (errno == EAGAIN || errno == ECONNABORTED || errno == EINTR)) continue;
    if (!peer) co_return fail_system(errno, "accepting a container's connection");
    ucred who{};
    socklen_t length = sizeof who;
    if (::getsockopt(peer.get(), SOL_SOCKET, SO_PEERCRED, &who, &length) == 0 && who.pid == pid) co_return peer;
  }
}

std::string container_link::reason() const {
  const sys::unique_fd file(::openat(directory_fd_.get(), "reason", O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  std::string text(500, '\0');
  const ssize_t length = file ? ::read(file.get(), text.data(), text.size()) : 0;
  text.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  return tidy(text.substr(0, text.find('\n')));
}

void sweep_links(const std::string& beneath) {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(beneath.c_str()), ::closedir);
  std::vector<std::string> left;
  while (const dirent* entry = entries ? ::readdir(entries.get()) : nullptr)
    if (std::string_view(entry->d_name).starts_with(prefix)) left.push_back(beneath + "/" + entry->d_name);
  for (const auto& path : left) remove_directory(path);
}

}  // namespace sbx::sandbox
