// A blocking JSON-RPC client that shares no code with the project: what it knows is the wire contract. Every wait has a
// deadline; running into one fails the test.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "daemon/sys/fd.hpp"
#include "tests/support/harness/util.hpp"

namespace sbx::test {

using json = nlohmann::json;

enum class framing { lines, headers };

class client {
 public:
  explicit client(const std::string& socket, framing kind = framing::lines);

  // Sends a request and answers its `result`; an error fails the test.
  json call(const std::string& method, json params = json::object(), const std::vector<int>& fds = {},
            milliseconds limit = 20000ms);
  // Sends a request that must fail; answers the `error` object.
  json refused(const std::string& method, json params = json::object(), const std::vector<int>& fds = {},
               milliseconds limit = 20000ms);
  // As above, and its data.kind alone.
  std::string kind(const std::string& method, json params = json::object(), const std::vector<int>& fds = {});

  int start(const std::string& method, json params = json::object(), const std::vector<int>& fds = {});  // its id
  json reply(const json& id, milliseconds limit = 20000ms);  // the whole reply, in whatever order they come
  json result(const json& id, milliseconds limit = 20000ms);
  json error(const json& id, milliseconds limit = 20000ms);
  bool has_reply(const json& id, milliseconds within);

  void notify(const std::string& method, json params);
  // The first notification of that method that `matches`, past ones included; it is consumed.
  json notification(const std::string& method, const std::function<bool(const json&)>& matches = {},
                    milliseconds limit = 10000ms);

  void send(const json& message, const std::vector<int>& fds = {});
  void send_bytes(std::string_view bytes, const std::vector<int>& fds = {});
  bool try_send_bytes(std::string_view bytes, const std::vector<int>& fds = {});  // false: the peer has closed
  json next(milliseconds limit = 10000ms);                                        // the next message of any kind
  bool closed(milliseconds within = 10000ms);  // the daemon ends the connection; what it says before is kept
  void half_close();
  void close() { fd_.reset(); }
  int fd() const { return fd_.get(); }

  std::deque<sys::unique_fd> received;  // descriptors that came along

 private:
  bool fill(clock::time_point end);  // reads some bytes; false at end-of-file
  bool take(std::string& frame);
  void sort(json message);

  sys::unique_fd fd_;
  framing framing_;
  std::string buffer_;
  int last_id_ = 0;
  std::map<std::string, json> replies_;
  std::deque<json> notifications_;
};

std::string from_base64(const std::string& text);
std::string to_base64(std::string_view bytes);
// The bytes of an output object {data, encoding}.
std::string bytes_of(const json& output);

}  // namespace sbx::test
