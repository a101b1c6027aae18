#include "tests/support/harness/client.hpp"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace sbx::test {

client::client(const std::string& socket, framing kind)
    : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)), framing_(kind) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  REQUIRE(socket.size() < sizeof address.sun_path);
  std::memcpy(address.sun_path, socket.c_str(), socket.size() + 1);
  const auto* generic = reinterpret_cast<const sockaddr*>(&address);
  REQUIRE_MESSAGE(::connect(fd_.get(), generic, sizeof address) == 0, "connecting " << socket << ": " << errno);
  timeval patience{20, 0};
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

bool client::try_send_bytes(std::string_view bytes, const std::vector<int>& fds) {
  bool with_fds = !fds.empty();
  while (!bytes.empty()) {
    iovec part{const_cast<char*>(bytes.data()), bytes.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 64)] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (with_fds) {
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
      std::memcpy(CMSG_DATA(header), fds.data(), sizeof(int) * fds.size());
    }
    const ssize_t n = ::sendmsg(fd_.get(), &message, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    with_fds = false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

void client::send_bytes(std::string_view bytes, const std::vector<int>& fds) {
  REQUIRE_MESSAGE(try_send_bytes(bytes, fds), "sending failed: " << std::strerror(errno));
}

void client::send(const json& message, const std::vector<int>& fds) {
  std::string text = message.dump();
  if (framing_ == framing::lines) {
    text += '\n';
  } else {
    text = "Content-Length: " + std::to_string(text.size()) + "\r\n\r\n" + text;
  }
  send_bytes(text, fds);
}

bool client::fill(clock::time_point end) {
  const auto left = std::chrono::duration_cast<milliseconds>(end - clock::now()).count();
  pollfd wait{fd_.get(), POLLIN, 0};
  REQUIRE_MESSAGE((left > 0 && ::poll(&wait, 1, static_cast<int>(left)) == 1), "nothing came from the daemon in time");
  char block[1 << 16];
  iovec part{block, sizeof block};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * 64)];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t n = ::recvmsg(fd_.get(), &message, MSG_CMSG_CLOEXEC);
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return true;
  if (n <= 0) return false;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(header) + i * sizeof(int), sizeof number);
      received.emplace_back(number);
    }
  }
  buffer_.append(block, static_cast<std::size_t>(n));
  return true;
}

bool client::take(std::string& frame) {
  if (framing_ == framing::lines) {
    const auto end = buffer_.find('\n');
    if (end == std::string::npos) return false;
    frame = buffer_.substr(0, end);
    buffer_.erase(0, end + 1);
    return true;
  }
  const auto head = buffer_.find("\r\n\r\n");
  if (head == std::string::npos) return false;
  REQUIRE(buffer_.compare(0, 16, "Content-Length: ") == 0);
  const auto length = std::strtoull(buffer_.c_str() + 16, nullptr, 10);
  if (buffer_.size() < head + 4 + length) return false;
  frame = buffer_.substr(head + 4, length);
  buffer_.erase(0, head + 4 + length);
  return true;
}

json client::next(milliseconds limit) {
  const auto end = clock::now() + limit;
  std::string frame;
  while (!take(frame)) REQUIRE_MESSAGE(fill(end), "the daemon closed the connection");
  return json::parse(frame);
}

void client::sort(json message) {
  if (message.is_object() && message.contains("method")) {
    notifications_.push_back(std::move(message));
  } else {
    const std::string key = message.is_object() ? message.value("id", json()).dump() : "batch";
    replies_.insert_or_assign(key, std::move(message));
  }
}

bool client::closed(milliseconds within) {
  const auto end = clock::now() + within;
  try {
    while (true) {
      std::string frame;
      while (take(frame)) sort(json::parse(frame));
      const auto left = std::chrono::duration_cast<milliseconds>(end - clock::now()).count();
      pollfd wait{fd_.get(), POLLIN, 0};
      if (left <= 0 || ::poll(&wait, 1, static_cast<int>(left)) != 1) return false;
      if (!fill(end)) return true;
    }
  } catch (const json::exception&) {
    FAIL("the daemon sent something that is no JSON");
  }
  return false;
}

void client::half_close() {
  REQUIRE(::shutdown(fd_.get(), SHUT_WR) == 0);
}

int client::start(const std::string& method, json params, const std::vector<int>& fds) {
  json message = {{"jsonrpc", "2.0"}, {"id", ++last_id_}, {"method", method}};
  if (!params.is_null()) message["params"] = std::move(params);
  send(message, fds);
  return last_id_;
}

void client::notify(const std::string& method, json params) {
  send({{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}});
}

json client::reply(const json& id, milliseconds limit) {
  const auto end = clock::now() + limit;
  const std::string key = id.dump();
  while (!replies_.count(key)) {
    const auto left = std::chrono::duration_cast<milliseconds>(end - clock::now());
    REQUIRE_MESSAGE(left.count() > 0, "no reply in time to " << key);
    sort(next(left));
  }
  json found = std::move(replies_[key]);
  replies_.erase(key);
  return found;
}

bool client::has_reply(const json& id, milliseconds within) {
  const auto end = clock::now() + within;
  while (!replies_.count(id.dump())) {
    std::string frame;
    if (take(frame)) {
      sort(json::parse(frame));
      continue;
    }
    const auto left = std::chrono::duration_cast<milliseconds>(end - clock::now()).count();
    pollfd wait{fd_.get(), POLLIN, 0};
    if (left <= 0 || ::poll(&wait, 1, static_cast<int>(left)) != 1) return false;
    if (!fill(end)) return false;
  }
  return true;
}

json client::result(const json& id, milliseconds limit) {
  json answer = reply(id, limit);
  REQUIRE_MESSAGE(answer.contains("result"),
                  answer.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, 2000));
  return std::move(answer["result"]);
}

json client::error(const json& id, milliseconds limit) {
  json answer = reply(id, limit);
  REQUIRE_MESSAGE(answer.contains("error"),
                  answer.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, 2000));
  return std::move(answer["error"]);
}

json client::call(const std::string& method, json params, const std::vector<int>& fds, milliseconds limit) {
  CAPTURE(method);
  return result(start(method, std::move(params), fds), limit);
}

json client::refused(const std::string& method, json params, const std::vector<int>& fds, milliseconds limit) {
  CAPTURE(method);
  return error(start(method, std::move(params), fds), limit);
}

std::string client::kind(const std::string& method, json params, const std::vector<int>& fds) {
  return refused(method, std::move(params), fds)["data"].value("kind", "?");
}

json client::notification(const std::string& method, const std::function<bool(const json&)>& matches,
                          milliseconds limit) {
  const auto end = clock::now() + limit;
  while (true) {
    for (auto it = notifications_.begin(); it != notifications_.end(); ++it) {
      if (it->value("method", "") != method || (matches && !matches((*it)["params"]))) continue;
      json found = std::move((*it)["params"]);
      notifications_.erase(it);
      return found;
    }
    const auto left = std::chrono::duration_cast<milliseconds>(end - clock::now());
    REQUIRE_MESSAGE(left.count() > 0, "no notification in time: " << method);
    sort(next(left));
  }
}

namespace {
constexpr char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
}

std::string from_base64(const std::string& text) {
  std::string bytes;
  unsigned value = 0;
  int bits = 0;
  for (const char c : text) {
    const char* at = c == '=' ? nullptr : std::strchr(alphabet, c);
    if (!at) break;
    value = (value << 6) | static_cast<unsigned>(at - alphabet);
    bits += 6;
    if (bits >= 8) bytes += static_cast<char>((value >> (bits -= 8)) & 0xff);
  }
  return bytes;
}

std::string to_base64(std::string_view bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned value = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      value = (value << 8) | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += k > bytes.size() - i ? '=' : alphabet[(value >> (18 - 6 * k)) & 63];
    }
  }
  return text;
}

std::string bytes_of(const json& output) {
  const auto data = output.at("data").get<std::string>();
  return output.at("encoding") == "base64" ? from_base64(data) : data;
}

}  // namespace sbx::test
