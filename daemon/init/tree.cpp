#include "daemon/init/tree.hpp"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sbx::init {

namespace {

process_entry* table = nullptr;
std::size_t capacity = 0;

bool grow() {
  const std::size_t wanted = capacity ? capacity * 2 : 1024;
  void* made =
      mmap(nullptr, wanted * sizeof(process_entry), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) return false;
  if (table) {
    memcpy(made, table, capacity * sizeof(process_entry));
    munmap(table, capacity * sizeof(process_entry));
  }
  table = static_cast<process_entry*>(made);
  capacity = wanted;
  return true;
}

int open_of(pid_t pid, const char* tail) {
  char path[48];
  char* p = path + sizeof path - strlen(tail) - 1;
  memcpy(p, tail, strlen(tail) + 1);
  for (pid_t n = pid; n > 0; n /= 10) *--p = static_cast<char>('0' + n % 10);
  p -= 6;
  memcpy(p, "/proc/", 6);
  return open(p, O_RDONLY | O_CLOEXEC);
}

// Fields after the parenthesised name, which may hold anything: so from the last ')'.
bool read_stat(pid_t pid, process_entry& out) {
  char text[1024];
  const int fd = open_of(pid, "/stat");
  if (fd < 0) return false;
  const ssize_t got = read(fd, text, sizeof text - 1);
  close(fd);
  if (got <= 0) return false;
  text[got] = 0;
  char* at = strrchr(text, ')');
  if (!at || at[1] != ' ') return false;
  out.pid = pid;
  out.state = at[2];
  at += 4;
  long long field[21] = {};  // from ppid (4) to rss (24)
  for (auto& value : field) value = strtoll(at, &at, 10);
  out.ppid = static_cast<pid_t>(field[0]);
  out.cpu_ticks = field[10] + field[11];
  out.start_time = static_cast<std::uint64_t>(field[18]);
  out.rss_pages = field[20];
  out.beneath = false;
  return true;
}

// The numbers in a text that comes in pieces.
class number_reader {
 public:
  // Calls `each` for every number that is complete.
  template <class F>
  void feed(const char* text, std::size_t bytes, F each) {
    for (std::size_t i = 0; i < bytes; ++i) {
      if (text[i] >= '0' && text[i] <= '9') {
        number_ = number_ * 10 + (text[i] - '0');
      } else if (number_ != 0) {
        each(number_);
        number_ = 0;
      }
    }
  }

 private:
  pid_t number_ = 0;
};

// Adds the children of all threads of a process to the table. False when the kernel does not list them.
bool add_children(pid_t pid, std::size_t& count) {
  const int tasks = open_of(pid, "/task");
  DIR* directory = tasks >= 0 ? fdopendir(tasks) : nullptr;
  if (!directory) {
    if (tasks >= 0) close(tasks);
    return errno == ENOENT || errno == ESRCH;  // it is gone, and its children with it or elsewhere
  }
  bool listed = true;
  while (dirent* task = readdir(directory)) {
    if (task->d_name[0] == '.' || strlen(task->d_name) > 12) continue;
    char name[32];
    strcpy(name, task->d_name);
    strcat(name, "/children");
    const int fd = openat(tasks, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
      listed = listed && faccessat(tasks, task->d_name, F_OK, 0) != 0;  // a thread that ended
      continue;
    }
    char text[4096];
    number_reader numbers;
    for (ssize_t got; (got = read(fd, text, sizeof text)) > 0;) {
      numbers.feed(text, static_cast<std::size_t>(got), [&](pid_t child) {
        if ((count < capacity || grow()) && read_stat(child, table[count])) ++count;
      });
    }
    close(fd);
  }
  closedir(directory);
  return listed;
}

// As read_descendants, by the lists of children: its cost is the tree's, not the machine's. While a tree forks and ends
// it may miss some: good for signals that ask, not for what must reach everybody.
snapshot walk_descendants(pid_t root) {
  std::size_t count = 0;
  bool listed = add_children(root, count);
  for (std::size_t i = 0; listed && i < count; ++i) listed = add_children(table[i].pid, count);
  return listed ? snapshot{table, count} : read_descendants(root);
}

}  // namespace

std::size_t read_arguments(pid_t pid, char* into, std::size_t room) {
  const int fd = open_of(pid, "/cmdline");
  if (fd < 0) return 0;
  const ssize_t got = room > 0 ? read(fd, into, room) : 0;
  close(fd);
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

snapshot read_processes() {
  std::size_t count = 0;
  DIR* directory = opendir("/proc");
  if (!directory) return {nullptr, 0};
  while (dirent* entry = readdir(directory)) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    if (count == capacity && !grow()) break;
    if (read_stat(static_cast<pid_t>(atoi(entry->d_name)), table[count])) ++count;
  }
  closedir(directory);
  return {table, count};
}

// /proc lists processes by ascending number.
const process_entry* find_process(const snapshot& in, pid_t pid) {
  std::size_t low = 0, high = in.count;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (in.entries[middle].pid < pid) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < in.count && in.entries[low].pid == pid ? &in.entries[low] : nullptr;
}

snapshot read_descendants(pid_t root) {
  const snapshot all = read_processes();
  for (std::size_t i = 0; i < all.count; ++i) {
    const process_entry* at = &table[i];
    std::size_t steps = 0;  // a parent may have changed while we read: no climb may go in circles
    while (at && at->ppid != root && !at->beneath && steps++ < all.count) at = find_process(all, at->ppid);
    table[i].beneath = table[i].pid != root && at && steps < all.count;
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < all.count; ++i)
    if (table[i].beneath) table[kept++] = table[i];
  return {table, kept};
}

void signal_descendants(int number) {
  const snapshot below = number == SIGKILL ? read_descendants(getpid()) : walk_descendants(getpid());
  for (std::size_t i = 0; i < below.count; ++i) {
    const process_entry& entry = below.entries[i];
    if (!is_alive(entry)) continue;
    const int fd = static_cast<int>(syscall(SYS_pidfd_open, entry.pid, 0));
    if (fd < 0) continue;
    process_entry now;
    // The number may have gone to another process between reading and opening; the pidfd holds whoever has it now.
    if (read_stat(entry.pid, now) && now.start_time == entry.start_time)
      syscall(SYS_pidfd_send_signal, fd, number, nullptr, 0);
    close(fd);
  }
}

std::size_t kill_children(bool (*spare)(void* context, pid_t pid), void* context) {
  std::size_t met = 0;
  const auto kill_one = [&](pid_t pid) {
    if (spare && spare(context, pid)) return;
    ++met;
    kill(pid, SIGKILL);
  };
  const int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
  if (fd < 0) {  // a kernel without it
    const snapshot all = read_processes();
    for (std::size_t i = 0; i < all.count; ++i)
      if (all.entries[i].ppid == getpid()) kill_one(all.entries[i].pid);
    return met;
  }
  char text[4096];
  number_reader numbers;
  for (ssize_t got; (got = read(fd, text, sizeof text)) > 0;)
    numbers.feed(text, static_cast<std::size_t>(got), kill_one);
  close(fd);
  return met;
}

}  // namespace sbx::init
