// A spawn message, taken apart.
#pragma once

#include <cstddef>
#include <cstdint>

#include "daemon/sys/init_wire.hpp"

namespace sbx::init {

namespace wire = sys::init_wire;

struct command {
  const char* cwd = nullptr;
  const char* search_path = nullptr;  // empty: PATH of the environment
  char** roots = nullptr;             // root_count of them
  std::uint32_t root_count = 0;
  char** argv = nullptr;  // ended by nullptr, as environment
  char** environment = nullptr;
};

// How many pointers the message needs; 0 when its counts can't be true.
std::size_t pointers_needed(const wire::spawn& head);

// Splits `text` (head.text_bytes long) into `pointers`. All of the command points into these two. False when the text
// does not hold what the head announces.
bool parse_command(const wire::spawn& head, char* text, char** pointers, command& out);

}  // namespace sbx::init
