#include "tests/support/harness/util.hpp"

#include <dirent.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "tests/support/harness/row.hpp"

namespace sbx::test {

std::int64_t since_ms(clock::time_point start) {
  return std::chrono::duration_cast<milliseconds>(clock::now() - start).count();
}

std::string random_word() {
  static std::mt19937_64 engine{std::random_device{}()};
  std::string word;
  for (int i = 0; i < 12; ++i) word += "abcdefghijklmnopqrstuvwxyz0123456789"[engine() % 36];
  return word;
}

bool eventually(const std::function<bool()>& holds, milliseconds limit, milliseconds step) {
  const auto end = clock::now() + limit;
  while (!holds()) {
    if (clock::now() >= end) return false;
    std::this_thread::sleep_for(step);
  }
  return true;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void write_file(const std::string& path, std::string_view text, mode_t mode) {
  sys::unique_fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  REQUIRE_MESSAGE(fd, "cannot write " << path);
  while (!text.empty()) {
    const ssize_t n = ::write(fd.get(), text.data(), text.size());
    REQUIRE(n > 0);
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  ::fchmod(fd.get(), mode);
  if (running_as_root()) REQUIRE(::fchown(fd.get(), daemon_ids().uid, daemon_ids().gid) == 0);
}

bool exists(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

pipe_ends make_pipe() {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  return {sys::unique_fd(ends[0]), sys::unique_fd(ends[1])};
}

std::string read_all(sys::fd_ref fd, milliseconds limit) {
  const auto end = clock::now() + limit;
  std::string all;
  std::string block(1 << 16, '\0');
  while (true) {
    const auto left = std::chrono::duration_cast<milliseconds>(end - clock::now()).count();
    pollfd wait{fd.get(), POLLIN, 0};
    REQUIRE_MESSAGE((left > 0 && ::poll(&wait, 1, static_cast<int>(left)) == 1), "no end-of-file in time");
    const ssize_t n = ::read(fd.get(), block.data(), block.size());
    REQUIRE(n >= 0);
    if (n == 0) return all;
    all.append(block.data(), static_cast<std::size_t>(n));
  }
}

namespace {

template <class F>
void each_process(F&& visit) {
  DIR* directory = ::opendir("/proc");
  if (!directory) return;
  while (const dirent* entry = ::readdir(directory)) {
    const int pid = std::atoi(entry->d_name);
    if (pid > 0) visit(pid);
  }
  ::closedir(directory);
}

}  // namespace

std::vector<pid_t> processes_with(const std::string& mark) {
  std::vector<pid_t> found;
  each_process([&](pid_t pid) {
    if (pid != ::getpid() && read_file("/proc/" + std::to_string(pid) + "/cmdline").find(mark) != std::string::npos) {
      found.push_back(pid);
    }
  });
  return found;
}

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> found;
  each_process([&](pid_t pid) {
    if (status_field(pid, "PPid") == std::to_string(parent)) found.push_back(pid);
  });
  return found;
}

std::optional<std::string> status_field(pid_t pid, const std::string& name) {
  std::istringstream text(read_file("/proc/" + std::to_string(pid) + "/status"));
  for (std::string line; std::getline(text, line);) {
    if (line.rfind(name + ":", 0) == 0) {
      const auto at = line.find_first_not_of(" \t", name.size() + 1);
      return at == std::string::npos ? "" : line.substr(at);
    }
  }
  return std::nullopt;
}

std::int64_t resident_kb(pid_t pid) {
  return std::atoll(status_field(pid, "VmRSS").value_or("0").c_str());
}

std::int64_t private_kb(pid_t pid) {
  std::istringstream text(read_file("/proc/" + std::to_string(pid) + "/smaps_rollup"));
  std::int64_t sum = 0;
  for (std::string line; std::getline(text, line);) {
    if (line.rfind("Private_", 0) == 0) sum += std::atoll(line.c_str() + line.find(':') + 1);
  }
  return sum;
}

int open_descriptors(pid_t pid) {
  int count = 0;
  if (DIR* directory = ::opendir(("/proc/" + std::to_string(pid) + "/fd").c_str())) {
    while (const dirent* entry = ::readdir(directory)) count += entry->d_name[0] != '.';
    ::closedir(directory);
  }
  return count;
}

ids daemon_ids() {
  if (!as_ordinary_user() || !running_as_root()) return {::geteuid(), ::getegid()};
  static const ids found = [] {
    const passwd* entry = ::getpwnam("sbx-test");
    if (!entry) skip("sbx-test", "no user sbx-test (made by ./dev test)");
    return ids{entry->pw_uid, entry->pw_gid};
  }();
  return found;
}

void become_daemon_user() {
  if (!as_ordinary_user() || !running_as_root()) return;
  const ids user = daemon_ids();
  if (::setgroups(0, nullptr) != 0 || ::setresgid(user.gid, user.gid, user.gid) != 0 ||
      ::setresuid(user.uid, user.uid, user.uid) != 0) {
    ::_exit(99);
  }
}

run_result run(const std::vector<std::string>& argv, const std::vector<std::string>& env, const std::string& input,
               const std::string& cwd, milliseconds limit, bool as_daemon_user) {
  pipe_ends in = make_pipe(), out = make_pipe(), err = make_pipe();
  const ids user = daemon_ids();
  static_cast<void>(user);  // looked up before the fork
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::dup2(in.read.get(), 0), ::dup2(out.write.get(), 1), ::dup2(err.write.get(), 2);
    if (as_daemon_user) become_daemon_user();
    if (::chdir(cwd.c_str()) != 0) ::_exit(98);
    std::vector<char*> arguments, variables;
    for (const auto& s : argv) arguments.push_back(const_cast<char*>(s.c_str()));
    for (const auto& s : env) variables.push_back(const_cast<char*>(s.c_str()));
    arguments.push_back(nullptr), variables.push_back(nullptr);
    if (env.empty()) {
      ::execvp(arguments[0], arguments.data());
    } else {
      ::execvpe(arguments[0], arguments.data(), variables.data());
    }
    ::_exit(97);
  }
  in.read.reset(), out.write.reset(), err.write.reset();
  if (input.empty()) in.write.reset();

  run_result result;
  const auto end = clock::now() + limit;
  std::size_t written = 0;
  std::string block(1 << 16, '\0');
  if (in.write) ::fcntl(in.write.get(), F_SETFL, O_NONBLOCK);
  while (out.read || err.read) {
    pollfd waits[3] = {{out.read.get(), POLLIN, 0}, {err.read.get(), POLLIN, 0}, {in.write.get(), POLLOUT, 0}};
    const auto left = std::chrono::duration_cast<milliseconds>(end - clock::now()).count();
    if (left <= 0 || ::poll(waits, 3, static_cast<int>(left)) <= 0) break;
    const auto drain = [&](sys::unique_fd& fd, short events, std::string& to) {
      if (!fd || events == 0) return;
      const ssize_t n = ::read(fd.get(), block.data(), block.size());
      if (n <= 0) fd.reset();
      if (n > 0) to.append(block.data(), static_cast<std::size_t>(n));
    };
    drain(out.read, waits[0].revents, result.out);
    drain(err.read, waits[1].revents, result.err);
    if (in.write && waits[2].revents != 0) {
      const ssize_t n = ::write(in.write.get(), input.data() + written, input.size() - written);
      if (n > 0) written += static_cast<std::size_t>(n);
      if (n < 0 || written == input.size()) in.write.reset();
    }
  }
  int status = 0;
  if (out.read || err.read) ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  if (!out.read && !err.read) result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace sbx::test
