// Everything a test needs to start sandboxes and run commands in them, without a daemon.
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "daemon/async/blocking_pool.hpp"
#include "daemon/sandbox/factory.hpp"
#include "tests/unit/sandbox/temporary_directory.hpp"

namespace sbx::sandbox {

namespace asio = async::asio;

struct command_end {
  int code = -1;    // exit code, or 128 + n
  std::string out;  // stdout and stderr
};

class test_host {
 public:
  explicit test_host(backend_options options = backend_options()) : pool_(context_.get_executor()) {
    options.defaults = note_process_defaults();
    if (options.runtime_directory.empty()) options.runtime_directory = runtime_.path();
    ::chmod(runtime_.path().c_str(), 0700);
    options.socket_path = options.runtime_directory + "/sbxd.sock";
    backends_ = make_backends(context_, pool_, options);
  }

  ~test_host() {
    backends_.clear();
    context_.run_for(std::chrono::milliseconds(50));
  }

  template <class T>
  T await(async::task<T> work, std::chrono::seconds limit = std::chrono::seconds(60)) {
    std::optional<T> value;
    std::exception_ptr failure;
    bool done = false;
    const auto store = [](async::task<T> inner, std::optional<T>& into) -> async::task<void> {
      into.emplace(co_await std::move(inner));
    };
    asio::co_spawn(context_, store(std::move(work), value), [&](std::exception_ptr thrown) {
      failure = thrown;
      done = true;
    });
    run_until(done, limit);
    if (failure) std::rethrow_exception(failure);
    REQUIRE(value);
    return std::move(*value);
  }

  void await(async::task<void> work, std::chrono::seconds limit = std::chrono::seconds(60)) {
    const auto answered = [](async::task<void> inner) -> async::task<bool> {
      co_await std::move(inner);
      co_return true;
    };
    await(answered(std::move(work)), limit);
  }

  backend& of(backend_kind kind) { return *backends_.at(kind); }

  result<std::shared_ptr<sandbox>> launch(spec wanted) {
    auto& made = of(wanted.backend);
    return await(made.launch(std::move(wanted), {}));
  }

  // A command line by /bin/sh, until its end; what it prints must fit the pipe.
  command_end sh(sandbox& where, const std::string& line, const std::string& cwd = "/") {
    return await(run(where, line, cwd));
  }

  asio::io_context& context() { return context_; }
  const std::filesystem::path& runtime() const { return runtime_.path(); }

 private:
  void run_until(const bool& done, std::chrono::seconds limit) {
    const auto end = std::chrono::steady_clock::now() + limit;
    context_.restart();
    const auto guard = asio::make_work_guard(context_);
    while (!done && std::chrono::steady_clock::now() < end) context_.run_one_for(std::chrono::milliseconds(100));
    REQUIRE(done);
  }

  async::task<command_end> run(sandbox& where, std::string line, std::string cwd) {
    auto opening = where.open_leash(async::strand(context_.get_executor()));
    auto rope = co_await std::move(opening);
    command_end end;
    if (!rope) {
      end.out = rope.error().message;
      co_return end;
    }
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) co_return end;
    const sys::unique_fd from(ends[0]);
    spawn_request request;
    request.argv = {"/bin/sh", "-c", std::move(line)};
    request.env = where.base_env();
    request.env.insert(request.env.begin(),
                       {"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME=" + where.home()});
    request.cwd = std::move(cwd);
    request.stdin_fd.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    request.stdout_fd.reset(ends[1]);
    request.stderr_fd.reset(::fcntl(ends[1], F_DUPFD_CLOEXEC, 0));
    auto spawning = (*rope)->spawn(std::move(request));
    const auto pid = co_await std::move(spawning);
    if (!pid) {
      end.out = pid.error().message;
      co_return end;
    }
    auto waiting = (*rope)->wait_exited();
    const auto exited = co_await std::move(waiting);
    end.code = exited.lost                     ? -1
               : WIFEXITED(exited.wait_status) ? WEXITSTATUS(exited.wait_status)
                                               : 128 + WTERMSIG(exited.wait_status);
    char buffer[65536];
    ::fcntl(from.get(), F_SETFL, O_NONBLOCK);
    for (ssize_t length; (length = ::read(from.get(), buffer, sizeof buffer)) > 0;)
      end.out.append(buffer, static_cast<std::size_t>(length));
    co_return end;
  }

  temporary_directory runtime_;
  asio::io_context context_;
  async::blocking_pool pool_;
  backend_set backends_;
};

inline root_spec root_of(const std::filesystem::path& path) {
  root_spec root;
  root.path = path;
  root.fd = std::make_shared<sys::unique_fd>(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  REQUIRE(*root.fd);
  return root;
}

inline mount_spec mount_of(const std::filesystem::path& source, std::string target) {
  mount_spec mount;
  mount.source = source;
  mount.target = std::move(target);
  mount.fd = std::make_shared<sys::unique_fd>(::open(source.c_str(), O_PATH | O_CLOEXEC));
  return mount;
}

inline std::string detail(const error& problem, std::string_view name) {
  for (const auto& [key, value] : problem.details)
    if (const auto* text = std::get_if<std::string>(&value); text != nullptr && key == name) return *text;
  return "";
}

}  // namespace sbx::sandbox
