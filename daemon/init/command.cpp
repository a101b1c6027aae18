#include "daemon/init/command.hpp"

#include <string.h>

namespace sbx::init {

namespace {

class strings {
 public:
  strings(char* at, char* end, char** pointers) : at_(at), end_(end), pointers_(pointers) {}

  // The next `count` strings as a list. Null when there are not so many.
  char** take(std::uint32_t count) {
    char** const list = pointers_;
    for (; count > 0; --count) {
      if (at_ == end_) return nullptr;
      *pointers_++ = at_;
      at_ += strlen(at_) + 1;
    }
    return list;
  }
  void end_list() { *pointers_++ = nullptr; }
  bool all_taken() const { return at_ == end_; }

 private:
  char* at_;
  char* end_;
  char** pointers_;
};

}  // namespace

std::size_t pointers_needed(const wire::spawn& head) {
  const std::size_t bytes = head.text_bytes;  // every string takes its NUL at least
  if (bytes == 0 || bytes > wire::spawn_bytes_max || head.argv_count == 0) return 0;
  if (head.root_count > bytes || head.argv_count > bytes || head.env_count > bytes) return 0;
  return std::size_t{2} + head.root_count + head.argv_count + 1 + head.env_count + 1;
}

bool parse_command(const wire::spawn& head, char* text, char** pointers, command& out) {
  if (text[head.text_bytes - 1] != 0) return false;
  strings list(text, text + head.text_bytes, pointers);
  char** const first = list.take(2);
  out.roots = list.take(head.root_count);
  out.root_count = head.root_count;
  out.argv = list.take(head.argv_count);
  list.end_list();
  out.environment = list.take(head.env_count);
  list.end_list();
  if (!first || !out.roots || !out.argv || !out.environment || !list.all_taken()) return false;
  out.cwd = first[0];
  out.search_path = first[1];
  return true;
}

}  // namespace sbx::init
