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

std::string random_digits() {
  std::array<unsigned char, 8> bytes{};
  [[maybe_unused]] const ssize_t length = ::getrandom(bytes.data(), bytes.size(), 0);
  std::string text;
  for (const unsigned char byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

sys::unique_fd open_directory(const std::string& path) {
  return sys::unique_fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// Bound through the directory's descriptor, so that no path is too long for sun_path.
sys::unique_fd listen_in(sys::fd_ref directory) {
  sys::unique_fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/control", directory.get());
  if (!listener || ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::fchmodat(directory.get(), "control", 0666, 0) != 0 || ::listen(listener.get(), 64) != 0)
    listener.reset();
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

std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(path.c_str()), ::closedir);
  while (const dirent* entry = entries ? ::readdir(entries.get()) : nullptr)
    if (const std::string name = entry->d_name; name != "." && name != "..") names.push_back(name);
  return names;
}

void empty_directory(const std::string& path) {
  const auto directory = open_directory(path);
  if (!directory) return;
  for (const auto& name : names_in(path)) ::unlinkat(directory.get(), name.c_str(), 0);
}

void remove_link(const std::string& path) {
  empty_directory(path + "/shown");
  ::rmdir((path + "/shown").c_str());
  empty_directory(path);
  ::rmdir(path.c_str());
}

std::vector<std::string> read_record(const std::string& path) {
  const sys::unique_fd file(::open((path + "/record").c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  std::string text(64 * 1024, '\0');
  const ssize_t length = file ? ::read(file.get(), text.data(), text.size()) : 0;
  std::vector<std::string> words;
  for (std::size_t begin = 0, size = length > 0 ? static_cast<std::size_t>(length) : 0; begin < size;) {
    words.emplace_back(text.c_str() + begin);
    begin += words.back().size() + 1;
  }
  return words;
}

}  // namespace

result<std::unique_ptr<container_link>> container_link::make(asio::io_context& context, const std::string& beneath,
                                                             const std::string& prefix,
                                                             const std::vector<std::string>& record) {
  const std::string path = beneath + "/" + prefix + random_digits();
  if (::mkdir(path.c_str(), 0700) != 0) return fail_system(errno, "making a container's directory", path);
  std::unique_ptr<container_link> link(new container_link(context, path));
  if (auto filled = link->fill(record); !filled) return fail(std::move(filled.error()));
  return link;
}

container_link::container_link(asio::io_context& context, std::string directory)
    : directory_(std::move(directory)), listener_(context) {}

result<void> container_link::fill(const std::vector<std::string>& record) {
  directory_fd_ = open_directory(directory_);
  std::string text;
  for (const auto& word : record) text.append(word).push_back('\0');
  if (auto made = make_file(directory_fd_, "record", text, 0600); !made) return made;
  if (::mkdirat(directory_fd_.get(), "shown", 0700) != 0) return fail_system(errno, "making a container's directory");
  shown_fd_ = open_directory(shown_directory());
  auto listener = listen_in(shown_fd_);
  if (!listener) return fail_system(errno, "making a container's socket");
  listener_.assign(listener.release());
  if (::mkfifoat(shown_fd_.get(), "reason", 0600) != 0 || ::fchmodat(shown_fd_.get(), "reason", 0666, 0) != 0)
    return fail_system(errno, "making a container's pipe");
  reason_.reset(::openat(shown_fd_.get(), "reason", O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!reason_ || ::fchmod(shown_fd_.get(), 0711) != 0) return fail_system(errno, "making a container's pipe");
  return {};
}

container_link::~container_link() {
  boost::system::error_code ignored;
  listener_.close(ignored);
  remove_link(directory_);
}

void container_link::close_shown() {
  boost::system::error_code ignored;
  listener_.close(ignored);
  reason_.reset();
  empty_directory(shown_directory());
}

result<std::string> container_link::add_file(const std::string& name, const std::string& content) {
  if (auto made = make_file(directory_fd_, name, content, 0644); !made) return fail(std::move(made.error()));
  return directory_ + "/" + name;
}

result<std::string> container_link::add_copy(const std::string& name, sys::fd_ref content, mode_t mode) {
  if (auto made = make_file(directory_fd_, name, "", mode | 0200); !made) return fail(std::move(made.error()));
  const sys::unique_fd file(::openat(directory_fd_.get(), name.c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) return fail_system(errno, "opening a container's file", name);
  off_t offset = 0;
  for (ssize_t length = 1; length > 0;) {
    length = ::sendfile(file.get(), content.get(), &offset, std::size_t{64} << 20);
    if (length < 0) return fail_system(errno, "copying into a container's file", name);
  }
  return directory_ + "/" + name;
}

async::task<result<container_link::peer>> container_link::accept_from(pid_t pid) {
  for (;;) {
    boost::system::error_code failed;
    co_await listener_.async_wait(asio::posix::stream_descriptor::wait_read,
                                  asio::redirect_error(asio::use_awaitable, failed));
    if (failed) co_return fail(error_kind::cancelled, "no longer waiting for a container");
    peer found;
    found.control.reset(::accept4(listener_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!found.control && (errno == EAGAIN || errno == ECONNABORTED || errno == EINTR)) continue;
    if (!found.control) co_return fail_system(errno, "accepting a container's connection");
    ucred who{};
    socklen_t length = sizeof who;
    if (::getsockopt(found.control.get(), SOL_SOCKET, SO_PEERCRED, &who, &length) != 0 || who.pid != pid) continue;
    found.uid = who.uid;
    co_return found;
  }
}

std::string container_link::reason() const {
  std::string text(500, '\0');
  const ssize_t length = reason_ ? ::read(reason_.get(), text.data(), text.size()) : 0;
  text.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  return tidy(text.substr(0, text.find('\n')));
}

std::vector<std::vector<std::string>> find_left_links(const std::string& beneath, const std::string& prefix) {
  std::vector<std::vector<std::string>> records;
  for (const auto& name : names_in(beneath))
    if (name.starts_with(prefix)) records.push_back(read_record(beneath + "/" + name));
  return records;
}

void remove_left_links(const std::string& beneath, const std::string& prefix) {
  for (const auto& name : names_in(beneath))
    if (name.starts_with(prefix)) remove_link(beneath + "/" + name);
}

}  // namespace sbx::sandbox
