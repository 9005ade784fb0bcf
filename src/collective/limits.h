// SPDX-License-Identifier: Apache-2.0
// What may stand against more shared memory, found out before the kernel answers with a signal.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

namespace longship::collective {

// Throws Error if a file, which shared memory is to the kernel, must not be that long.
void check_file_limit(std::uint64_t length);
[[nodiscard]] bool within_file_limit(std::uint64_t length);

// The least that the control groups of this process leave it, as batch systems and containers limit memory.
struct MemoryRoom {
  std::uint64_t left = UINT64_MAX;
  std::string group;  // whose limit it is: a directory
};
// `groups`: what /proc/self/cgroup says; `mounted`: where control groups are, of version 1 or 2.
[[nodiscard]] MemoryRoom memory_room(const std::string& groups, const std::filesystem::path& mounted);

// Throws Error if the groups of this process do not leave it so much: the kernel would end it later.
void check_memory_groups(std::uint64_t bytes);

}  // namespace longship::collective
