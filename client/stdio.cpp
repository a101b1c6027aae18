#include "client/stdio.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace sbx::client {
namespace {

constexpr std::size_t splice_bytes = 1 << 20;
constexpr std::size_t copy_bytes = 64 * 1024;
constexpr std::size_t terminal_bytes = 4096;

struct pipe_pair {
  sys::unique_fd read, write;
};

outcome<pipe_pair> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(system_failure(errno, "Making a pipe"));
  pipe_pair made;
  made.read.reset(ends[0]);
  made.write.reset(ends[1]);
  return made;
}

void set_nonblocking(sys::fd_ref fd) {
  ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
}

bool same_object(int a, int b) {
  struct stat x, y;
  return ::fstat(a, &x) == 0 && ::fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

}  // namespace

bool can_be_handed_over(sys::fd_ref fd, direction way) {
  struct stat st;
  const int flags = ::fcntl(fd.get(), F_GETFL);
  if (flags < 0 || (flags & O_PATH) || ::fstat(fd.get(), &st) != 0) return false;
  const int mode = flags & O_ACCMODE;
  if (mode != O_RDWR && mode != (way == direction::in ? O_RDONLY : O_WRONLY)) return false;
  return S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3));
}

pump pump::into_pipe(sys::fd_ref from, sys::unique_fd pipe) {
  pump made;
  made.way_ = direction::in;
  made.from_ = from;
  made.to_ = pipe;
  made.pipe_ = std::move(pipe);
  set_nonblocking(made.to_);
  return made;
}

pump pump::out_of_pipe(sys::unique_fd pipe, sys::fd_ref to) {
  pump made;
  made.way_ = direction::out;
  made.from_ = pipe;
  made.to_ = to;
  made.pipe_ = std::move(pipe);
  set_nonblocking(made.from_);
  return made;
}

pollfd pump::wanted() const {
  const bool write = wait_for_room_ || !pending_.empty();
  return {write ? to_.get() : from_.get(), static_cast<short>(write ? POLLOUT : POLLIN), 0};
}

void pump::finish() {
  done_ = true;
  pipe_.reset();
}

void pump::step() {
  if (done_) return;
  if (splice_works_) return step_splice();
  step_copy();
}

void pump::step_splice() {
  const ssize_t moved = ::splice(from_.get(), nullptr, to_.get(), nullptr, std::min(splice_bytes, left_),
                                 SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
  if (moved == 0) return finish();
  if (moved > 0) {
    wait_for_room_ = false;
    if (left_ != SIZE_MAX) left_ -= static_cast<std::size_t>(moved);
    if (left_ == 0) finish();
    return;
  }
  if (errno == EINTR) return;
  if (errno == EAGAIN) {  // what was waited for is there, so it is the other side that keeps us
    wait_for_room_ = !wait_for_room_;
    return;
  }
  if (errno != EINVAL) return finish();
  splice_works_ = false;
  wait_for_room_ = false;
}

void pump::step_copy() {
  if (!pending_.empty()) return write_pending();
  char bytes[copy_bytes];
  const ssize_t size = ::read(from_.get(), bytes, std::min(sizeof(bytes), left_));
  if (size < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (size <= 0) return finish();
  pending_.assign(bytes, static_cast<std::size_t>(size));
  if (left_ != SIZE_MAX) left_ -= static_cast<std::size_t>(size);
  if (way_ == direction::out) write_pending();
}

void pump::write_pending() {
  const std::size_t size = way_ == direction::out ? std::min(pending_.size(), terminal_bytes) : pending_.size();
  const ssize_t written = ::write(to_.get(), pending_.data(), size);
  if (written < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (written < 0) return finish();
  pending_.erase(0, static_cast<std::size_t>(written));
  if (left_ == 0 && pending_.empty()) finish();
}

void pump::limit_to_available() {
  if (done_ || left_ != SIZE_MAX) return;
  int available = 0;
  left_ = ::ioctl(from_.get(), FIONREAD, &available) == 0 && available > 0 ? static_cast<std::size_t>(available) : 0;
  if (left_ == 0 && pending_.empty()) finish();
}

namespace {

outcome<void> plan_input(stdio_plan& plan) {
  const sys::fd_ref own(STDIN_FILENO);
  plan.in = plan.fds.size();
  if (can_be_handed_over(own, direction::in)) {
    plan.fds.push_back(own);
    return {};
  }
  auto made = make_pipe();
  if (!made) return fail(std::move(made.error()));
  plan.fds.emplace_back(made->read.get());
  plan.pipe_ends.push_back(std::move(made->read));
  plan.pumps.push_back(pump::into_pipe(own, std::move(made->write)));
  return {};
}

outcome<std::size_t> plan_output(stdio_plan& plan, int own) {
  const std::size_t index = plan.fds.size();
  if (can_be_handed_over(sys::fd_ref(own), direction::out)) {
    plan.fds.emplace_back(own);
    return index;
  }
  auto made = make_pipe();
  if (!made) return fail(std::move(made.error()));
  plan.fds.emplace_back(made->write.get());
  plan.pipe_ends.push_back(std::move(made->write));
  plan.pumps.push_back(pump::out_of_pipe(std::move(made->read), sys::fd_ref(own)));
  return index;
}

}  // namespace

outcome<stdio_plan> plan_stdio(stdin_use in, output_use use) {
  stdio_plan plan;
  if (in == stdin_use::pass)
    if (auto done = plan_input(plan); !done) return fail(std::move(done.error()));
  if (use == output_use::capture) return plan;
  auto out = plan_output(plan, STDOUT_FILENO);
  if (!out) return fail(std::move(out.error()));
  plan.out = *out;
  if (same_object(STDOUT_FILENO, STDERR_FILENO)) {  // one pipe for both keeps their order
    plan.fds.push_back(plan.fds[*out]);
    plan.err = plan.fds.size() - 1;
    return plan;
  }
  auto err = plan_output(plan, STDERR_FILENO);
  if (!err) return fail(std::move(err.error()));
  plan.err = *err;
  return plan;
}

}  // namespace sbx::client
