// passwd(5) and group(5) of a container: the image's, with the daemon's user in front. Pure.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

namespace sbx::sandbox {

struct account {
  account() = default;
  std::string name, home, shell = "/bin/sh";
  uid_t uid = 0;
  gid_t gid = 0;
};

// `who` first; lines of the same name or number go, so that every way to look it up finds this one.
std::string merge_passwd(std::string_view image_passwd, const account& who);
std::string merge_group(std::string_view image_group, std::string_view name, gid_t gid);

// The account an image's USER ("name", "uid", either with ":group") means; its home is "/" where the image does not
// say.
account find_account(std::string_view image_passwd, std::string_view user);

}  // namespace sbx::sandbox
