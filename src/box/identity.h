// SPDX-License-Identifier: Apache-2.0
// Who the caller is, and the lines that make the image know it: without them `whoami`, ssh, and half of
// Python's libraries stumble over a user id that has no name.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

namespace longship::box {

struct Caller {
  uid_t user = 0;
  gid_t group = 0;
  std::string name, group_name;
  std::string home;               // empty if it has none
  std::string working_directory;  // empty if it is gone
};

// From the environment and the host's /etc/passwd; no name service, which a static program cannot ask.
[[nodiscard]] Caller find_caller();

// The image's /etc/passwd or /etc/group with the caller's line added; nothing if it knows the id already.
[[nodiscard]] std::optional<std::string> passwd_with(std::string_view passwd, const Caller& caller);
[[nodiscard]] std::optional<std::string> group_with(std::string_view group, const Caller& caller);

}  // namespace longship::box
