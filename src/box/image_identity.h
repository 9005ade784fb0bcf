// SPDX-License-Identifier: Apache-2.0
// Which mount of an image boxes may share, and the name under which they meet its keeper.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace longship::box {

// How an image may be mounted here.
struct Ways {
  bool kernel = false, fuse = false;
};

// A file that is replaced, or written to, is another one.
struct Identity {
  std::uint64_t device, file, size, modified, changed;
  std::uint64_t group;  // FUSE answers to one group alone
  std::uint64_t ways;   // that may be taken
  std::uint64_t fate;   // who is killed together with the keeper
  std::uint64_t users;  // who may come besides this user
  bool operator==(const Identity&) const = default;
};

[[nodiscard]] Identity identity_of(int image, Ways ways);
[[nodiscard]] Ways ways_of(const Identity& identity);
// Short, so that it fits a socket's: whoever meets there compares the whole identity.
[[nodiscard]] std::string meeting_name(const Identity& identity);

namespace detail {
// A number for all who are killed together: control groups (the text of /proc/self/cgroup) are how a machine
// ends processes. Slurm's tasks have one each, but end as a step.
[[nodiscard]] std::uint64_t fate_of(std::string_view groups);
}  // namespace detail

}  // namespace longship::box
