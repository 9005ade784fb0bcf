// SPDX-License-Identifier: Apache-2.0
#include "limits.h"

#include <sys/resource.h>

#include <fstream>
#include <optional>
#include <sstream>

#include "base/error.h"

namespace longship::collective {
namespace {

std::uint64_t longest_allowed_file() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  return limit.rlim_cur;
}

namespace fs = std::filesystem;

std::optional<std::uint64_t> number_in(const fs::path& file) {
  std::uint64_t value = 0;
  if (std::ifstream in(file); in >> value) return value;
  return {};  // "max" is none either
}

// Page cache that nobody uses: the kernel gives it up before it refuses memory.
std::uint64_t reclaimable(const fs::path& group) {
  std::ifstream in(group / "memory.stat");
  std::string name;
  for (std::uint64_t value = 0; in >> name >> value;)
    if (name == "inactive_file" || name == "total_inactive_file") return value;
  return 0;
}

void look_at(const fs::path& group, MemoryRoom& room) {
  auto limit = number_in(group / "memory.max"), used = number_in(group / "memory.current");
  if (!limit) {
    limit = number_in(group / "memory.limit_in_bytes");
    used = number_in(group / "memory.usage_in_bytes");
  }
  if (!limit || !used) return;
  const std::uint64_t in_use = *used - std::min(*used, reclaimable(group));
  const std::uint64_t left = *limit - std::min(*limit, in_use);
  if (left < room.left) room = {left, group};
}

// A line is NUMBER:CONTROLLERS:PATH; version 2 has no controllers there.
void look_at_line(const std::string& line, const fs::path& mounted, MemoryRoom& room) {
  const auto first = line.find(':'), second = line.find(':', first + 1);
  if (first == std::string::npos || second == std::string::npos) return;
  const std::string controllers = line.substr(first + 1, second - first - 1);
  if (!controllers.empty() && controllers.find("memory") == std::string::npos) return;
  const fs::path top = controllers.empty() ? mounted : mounted / "memory";
  fs::path group = fs::path(line.substr(second + 1)).relative_path();
  for (look_at(top, room); !group.empty(); group = group.parent_path()) look_at(top / group, room);
}

}  // namespace

MemoryRoom memory_room(const std::string& groups, const fs::path& mounted) {
  MemoryRoom room;
  std::istringstream lines(groups);
  for (std::string line; std::getline(lines, line);) look_at_line(line, mounted, room);
  return room;
}

void check_memory_groups(std::uint64_t bytes) {
  std::ostringstream groups;
  groups << std::ifstream("/proc/self/cgroup").rdbuf();
  const MemoryRoom room = memory_room(groups.str(), "/sys/fs/cgroup");
  if (bytes <= room.left) return;
  throw Error(
      "{} bytes of shared memory are more than the {} bytes that the memory limit of this job leaves ({}): "
      "ask for more memory, or start fewer ranks on a node",
      bytes, room.left, room.group);
}

bool within_file_limit(std::uint64_t length) {
  return length <= longest_allowed_file();
}

void check_file_limit(std::uint64_t length) {
  if (within_file_limit(length)) return;
  throw Error("{} bytes of shared memory are more than a file may have here, which is {} (ulimit -f)", length,
              longest_allowed_file());
}

}  // namespace longship::collective
