#include "daemon/sandbox/accounts.hpp"

#include <charconv>
#include <functional>
#include <vector>

namespace sbx::sandbox {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0;;) {
    const auto end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end == std::string_view::npos ? end : end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The lines with at least `fields` fields whose name and number are not taken, each with its end.
std::string lines_without(std::string_view text, std::string_view name, std::uint32_t number, std::size_t fields) {
  std::string kept;
  for (const auto line : split(text, '\n')) {
    const auto parts = split(line, ':');
    if (parts.size() < fields || parts[0] == name || parse_number<std::uint32_t>(parts[2]) == number) continue;
    kept.append(line).push_back('\n');
  }
  return kept;
}

}  // namespace

std::string merge_passwd(std::string_view image_passwd, const account& who) {
  return who.name + ":x:" + std::to_string(who.uid) + ":" + std::to_string(who.gid) + "::" + who.home + ":" +
         who.shell + "\n" + lines_without(image_passwd, who.name, who.uid, 7);
}

std::string merge_group(std::string_view image_group, std::string_view name, gid_t gid) {
  return std::string(name) + ":x:" + std::to_string(gid) + ":\n" + lines_without(image_group, name, gid, 4);
}

account find_account(std::string_view image_passwd, std::string_view user) {
  account found;
  found.home = "/";
  const auto wanted = split(user, ':').front();
  const auto number = wanted.empty() ? std::optional<uid_t>(0) : parse_number<uid_t>(wanted);
  found.name = wanted.empty() ? "root" : std::string(wanted);
  if (number) found.uid = *number;
  for (const auto line : split(image_passwd, '\n')) {
    const auto parts = split(line, ':');
    if (parts.size() < 7) continue;
    const auto uid = parse_number<uid_t>(parts[2]);
    if (!uid || (number ? *uid != *number : parts[0] != wanted)) continue;
    found.name = parts[0];
    found.uid = *uid;
    found.gid = parse_number<gid_t>(parts[3]).value_or(0);
    if (parts[5].starts_with('/')) found.home = parts[5];
    break;
  }
  return found;
}

}  // namespace sbx::sandbox
