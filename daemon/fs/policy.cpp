#include "daemon/fs/policy.hpp"

namespace sbx::fs {
namespace {

result<std::vector<pattern>> compile_all(const std::vector<std::string>& texts) {
  std::vector<pattern> all;
  for (const std::string& text : texts) {
    auto one = pattern::compile(text);
    if (!one) return fail(std::move(one.error()));
    all.push_back(std::move(*one));
  }
  return all;
}

bool any_covers(const std::vector<pattern>& rules, std::string_view relative) {
  for (const pattern& rule : rules) {
    if (rule.covers(relative, dot_names::matched)) return true;
  }
  return false;
}

}  // namespace

result<policy> policy::compile(const std::vector<std::string>& deny, const std::vector<std::string>& read_only) {
  policy whole;
  auto denied = compile_all(deny);
  if (!denied) return fail(std::move(denied.error()));
  auto fixed = compile_all(read_only);
  if (!fixed) return fail(std::move(fixed.error()));
  whole.deny_ = std::move(*denied);
  whole.read_only_ = std::move(*fixed);
  return whole;
}

bool policy::denies(std::string_view relative) const {
  return any_covers(deny_, relative);
}

bool policy::forbids_change(std::string_view relative) const {
  return any_covers(deny_, relative) || any_covers(read_only_, relative);
}

}  // namespace sbx::fs
