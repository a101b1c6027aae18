#include "daemon/rpc/server.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <utility>
#include <vector>

#include "daemon/async/run.hpp"

namespace sbx::rpc {

namespace {

namespace asio = async::asio;

constexpr auto room_interval = std::chrono::milliseconds(100);

bool is_welcome(const sys::unique_fd& client) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(client.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == ::geteuid() || peer.uid == 0;
}

async::task<void> drain_one(std::shared_ptr<connection> client) {
  client->drain();
  auto quiet = client->wait_quiet();
  co_await std::move(quiet);
}

}  // namespace

server::server(asio::io_context& io, std::shared_ptr<services> shared)
    : io_(io),
      shared_(std::move(shared)),
      strand_(io.get_executor()),
      listener_(strand_),
      accepting_(strand_),
      hosting_(strand_) {}

void server::listen(sys::unique_fd listener) {
  listener_.assign(listener.release());
  listener_.non_blocking(true);
  accepting_.spawn("accepting", accept_all());
}

async::task<void> server::accept_all() {
  for (;;) {
    auto room = wait_for_room();
    co_await std::move(room);
    auto readable = listener_.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
    co_await std::move(readable);
    while (connections_.size() < shared_->limits.connections && accept_one()) {
    }
  }
}

async::task<void> server::wait_for_room() {
  while (out_of_room_ || connections_.size() >= shared_->limits.connections) {
    const auto seen = changed_.generation();
    const bool timed = std::exchange(out_of_room_, false);
    auto pending = changed_.wait_past(seen);
    if (timed) {  // descriptors come free without a word, so it is tried again now and then
      auto limited = async::with_deadline(std::move(pending), room_interval);
      co_await std::move(limited);
      co_return;
    }
    co_await std::move(pending);
  }
}

bool server::accept_one() {
  sys::unique_fd client(::accept4(listener_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!client) {
    if (errno == EINTR || errno == ECONNABORTED) return true;
    out_of_room_ = errno != EAGAIN;
    return false;
  }
  if (!is_welcome(client)) return true;
  const std::uint64_t number = next_number_++;
  auto made = std::make_shared<connection>(shared_, async::strand(io_.get_executor()), std::move(client), number);
  connections_.emplace(number, made);
  ++shared_->count.connections;
  ++shared_->count.connections_total;
  hosting_.spawn("serving a client", host(std::move(made)));
  return true;
}

async::task<void> server::host(std::shared_ptr<connection> client) {
  auto serving = async::on(client->strand(), client->serve());
  co_await std::move(serving);
  connections_.erase(client->number());
  --shared_->count.connections;
  changed_.notify_all();
}

async::task<void> server::drain() {
  return async::on(strand_, drain_all());
}

async::task<void> server::drain_all() {
  accepting_.cancel();
  std::vector<std::shared_ptr<connection>> clients;
  for (const auto& [number, client] : connections_) clients.push_back(client);
  async::task_group draining(strand_);
  for (const auto& client : clients)
    draining.spawn("draining a client", async::on(client->strand(), drain_one(client)));
  auto all = draining.join();
  co_await std::move(all);
}

void server::abort() {
  asio::dispatch(strand_, [this] {
    accepting_.cancel();
    for (const auto& [number, client] : connections_)
      asio::dispatch(client->strand(), [client = client] { client->abort(); });
  });
}

async::task<void> server::join() {
  auto accepting = accepting_.join();
  co_await std::move(accepting);
  auto hosting = hosting_.join();
  co_await std::move(hosting);
}

}  // namespace sbx::rpc
