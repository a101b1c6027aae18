// Ownership of file descriptors. A descriptor that is owned is a unique_fd; one that is lent is an fd_ref.
#pragma once

#include <unistd.h>

#include <utility>

namespace sbx::sys {

// A borrowed descriptor: never closed by whoever holds it, valid while its owner lives. -1 stands for none.
class fd_ref {
 public:
  constexpr fd_ref() noexcept = default;
  constexpr explicit fd_ref(int number) noexcept : number_(number) {}
  constexpr int get() const noexcept { return number_; }
  constexpr explicit operator bool() const noexcept { return number_ >= 0; }

 private:
  int number_ = -1;
};

// An owned descriptor, closed once. close(2) is not retried on EINTR (Linux has closed it by then).
class unique_fd {
 public:
  unique_fd() noexcept = default;
  explicit unique_fd(int number) noexcept : number_(number) {}
  unique_fd(unique_fd&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  unique_fd& operator=(unique_fd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.number_, -1));
    return *this;
  }
  unique_fd(const unique_fd&) = delete;
  unique_fd& operator=(const unique_fd&) = delete;
  ~unique_fd() { reset(); }

  int get() const noexcept { return number_; }
  explicit operator bool() const noexcept { return number_ >= 0; }
  operator fd_ref() const noexcept { return fd_ref(number_); }
  int release() noexcept { return std::exchange(number_, -1); }
  void reset(int number = -1) noexcept {
    const int old = std::exchange(number_, number);
    if (old >= 0) ::close(old);
  }

 private:
  int number_ = -1;
};

}  // namespace sbx::sys
