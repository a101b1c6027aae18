#include "client/verbs.hpp"
namespace sbx::client {
void add_fs_verbs(std::vector<verb>&) {}
}  // namespace sbx::client
