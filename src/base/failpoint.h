// SPDX-License-Identifier: Apache-2.0
// Places where tests make a process die or fail: between every two durable steps there is one.
//
//   LONGSHIP_FAILPOINTS="hub.committed=kill:3,agent.submitted=fail,pilot.kept=stop"
//
// kill: SIGKILL to ourselves; fail: an Error; stop: SIGSTOP; ":3" only the third time it is passed (1 if not
// said). With LONGSHIP_FAILPOINT_MARKS=DIR a point acts once among all processes that share the directory:
// what is started in place of a killed one lives. Nothing happens, and nothing is looked up, where the
// variable is not set when the process starts.
#pragma once
#include <string_view>

namespace longship {

namespace detail {
extern const bool failpoints_set;
void pass_failpoint(std::string_view name);
}  // namespace detail

inline void failpoint(std::string_view name) {
  if (detail::failpoints_set) [[unlikely]]
    detail::pass_failpoint(name);
}

}  // namespace longship
