// SPDX-License-Identifier: Apache-2.0
// What this machine allows a box to do, found by doing it: settings only tell why not. For `longship doctor`.
#pragma once
#include <string>
#include <vector>

namespace longship::box {

struct Ability {
  std::string name;
  bool there = false;
  std::string detail;  // what was found; if it is not there, why
  std::string remedy;  // empty if nothing can or needs to be done
};

// Each is tried in a child, which keeps the caller as it is.
[[nodiscard]] Ability user_namespaces();
[[nodiscard]] Ability boxes();  // a program in a box: the one that decides
[[nodiscard]] Ability overlay();
[[nodiscard]] Ability fuse();
[[nodiscard]] Ability kernel_squashfs();
[[nodiscard]] Ability seccomp();
[[nodiscard]] Ability confined_open();  // openat2

[[nodiscard]] std::vector<Ability> abilities();

}  // namespace longship::box
