// fs cat and fs put: the file itself comes or goes as a descriptor, so any size streams at the speed of the disk.
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "client/fs_common.hpp"
#include "client/work_verbs.hpp"

namespace sbx::client {
namespace {

constexpr std::size_t piece_bytes = 1 << 20;

outcome<sys::unique_fd> open_file(app& a, const proto::fs_open_params& params) {
  auto link = a.attach();
  if (!link) return fail(std::move(link.error()));
  auto answer = (*link)->call<proto::fs_open>(params);
  if (!answer) return fail(std::move(answer.error()));
  auto fds = (*link)->take_fds();
  const auto index = static_cast<std::size_t>(answer->value.fd);
  if (index >= fds.size()) return fail(exit_unavailable, "The daemon's answer to fs.open came without a descriptor.");
  return std::move(fds[index]);
}

// Tells how far a long copy is, on a terminal, from the second second on.
class progress_line {
 public:
  explicit progress_line(std::int64_t total) : total_(total), shows_(::isatty(STDERR_FILENO)) {}
  ~progress_line() {
    if (shown_) write_to(STDERR_FILENO, "\r\033[K");
  }
  void add(std::size_t bytes) {
    done_ += static_cast<std::int64_t>(bytes);
    const auto now = std::chrono::steady_clock::now();
    if (!shows_ || now < next_) return;
    next_ = now + std::chrono::milliseconds(200);
    shown_ = true;
    write_to(STDERR_FILENO, "\r\033[K" + format_size(done_) + (total_ > 0 ? " of " + format_size(total_) : ""));
  }

 private:
  std::int64_t total_, done_ = 0;
  bool shows_, shown_ = false;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + std::chrono::seconds(1);
};

enum class copied { all, reader_gone };

outcome<copied> copy_by_hand(int from, int to, progress_line& progress) {
  std::string bytes(piece_bytes, '\0');
  while (true) {
    const ssize_t size = ::read(from, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return fail(system_failure(errno, "Reading"));
    if (size == 0) return copied::all;
    if (!write_to(to, std::string_view(bytes).substr(0, static_cast<std::size_t>(size)))) {
      if (errno == EPIPE) return copied::reader_gone;
      return fail(system_failure(errno, "Writing"));
    }
    progress.add(static_cast<std::size_t>(size));
  }
}

outcome<copied> copy_fd(int from, int to) {
  struct stat st;
  progress_line progress(::fstat(from, &st) == 0 && S_ISREG(st.st_mode) ? st.st_size : 0);
  while (true) {
    const ssize_t size = ::sendfile(to, from, nullptr, piece_bytes);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EPIPE) return copied::reader_gone;
    if (size <= 0) return copy_by_hand(from, to, progress);  // at the end, or not between these two
    progress.add(static_cast<std::size_t>(size));
  }
}

struct cat_verb {
  file_place place;
  std::vector<std::string> words;
  void describe(options& o) {
    place.describe(o);
    o.words(words, "PATH…", 1, SIZE_MAX);
  }
  int run(app& a) {
    if (auto found = place.find(a); !found) return a.print_failure(found.error());
    int code = 0;
    for (const auto& path : words) {
      auto file = open_file(a, place.on<proto::fs_open_params>(path));
      if (!file) {
        code = a.print_failure(file.error());
        continue;
      }
      auto done = copy_fd(file->get(), STDOUT_FILENO);
      if (!done) return a.print_failure(done.error(), exit_error);
      if (*done == copied::reader_gone) return exit_error;
    }
    return code;
  }
};

struct put_verb {
  file_place place;
  std::vector<std::string> words;
  bool parents = false, append = false;
  void describe(options& o) {
    place.describe(o);
    o.flag("-p,--parents", parents, "Make missing directories");
    o.flag("--append", append, "Add at the end instead");
    o.words(words, "[SOURCE] PATH", 1, 2);
  }
  int run(app& a) {
    sys::unique_fd opened;
    int from = STDIN_FILENO;
    if (words.size() == 2 && words[0] != "-") {
      opened.reset(::open(words[0].c_str(), O_RDONLY | O_CLOEXEC));
      if (!opened) return a.print_failure(system_failure(errno, "Opening " + words[0]), exit_error);
      from = opened.get();
    }
    if (auto found = place.find(a); !found) return a.print_failure(found.error());
    auto to = target(a);
    if (!to) return a.print_failure(to.error());
    if (auto made = make_parents(a, *to); !made) return a.print_failure(made.error());
    auto params = place.on<proto::fs_open_params>(*to);
    params.flags = append ? proto::open_flags::a : proto::open_flags::w;
    params.create = true;
    auto file = open_file(a, params);
    if (!file) return a.print_failure(file.error());
    auto done = copy_fd(from, file->get());
    if (!done) return a.print_failure(done.error(), exit_error);
    keep_executable(from, file->get());
    return 0;
  }

 private:
  outcome<std::string> target(app& a) const {
    if (words.size() == 1 || words[0] == "-") return words.back();
    return place.target(a, words[0], words[1]);
  }
  outcome<void> make_parents(app& a, const std::string& to) const {
    const auto slash = to.rfind('/');
    if (!parents || slash == std::string::npos || slash == 0) return {};
    auto params = place.on<proto::fs_mkdir_params>(to.substr(0, slash));
    params.parents = true;
    auto made = a.ask<proto::fs_mkdir>(params);
    if (!made) return fail(std::move(made.error()));
    return {};
  }
  // A program stays one; where that is not ours to change the copy is still good.
  static void keep_executable(int from, int to) {
    struct stat source, made;
    if (::fstat(from, &source) != 0 || !S_ISREG(source.st_mode) || (source.st_mode & 0111) == 0) return;
    if (::fstat(to, &made) == 0) (void)!::fchmod(to, (made.st_mode & 07777) | ((made.st_mode & 0444) >> 2));
  }
};

}  // namespace

void add_transfer_verbs(std::vector<verb>& to) {
  to.push_back(make_verb<cat_verb>("Files", "fs cat", "Print files"));
  to.push_back(make_verb<put_verb>("Files", "fs put", "Write a file from a local one, or from stdin"));
}

}  // namespace sbx::client
