// SPDX-License-Identifier: Apache-2.0
// A small process that outlives kill -9 of ours just long enough to remove the directory we would have
// removed.
#pragma once
#include <filesystem>

#include "base/fd.h"

namespace longship::pilot {

class Guard {
 public:
  // Forks: the caller must have one thread. After the end of the caller, whatever its reason, the directory
  // goes, and its parent too if nothing else is in it.
  explicit Guard(const std::filesystem::path& directory);

 private:
  Fd alive_;  // closed by the kernel when we end
};

}  // namespace longship::pilot
