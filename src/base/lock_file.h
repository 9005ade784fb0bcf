// SPDX-License-Identifier: Apache-2.0
// A file that processes take turns by (flock). The kernel gives the lock back however its holder ends.
#pragma once
#include <sys/file.h>
#include <sys/types.h>

#include <filesystem>

#include "fd.h"

namespace longship {

// Made if it is not there. Returns when the lock is ours (LOCK_EX, or LOCK_SH with others); it is held as
// long as what is returned.
[[nodiscard]] Fd wait_for_lock(const std::filesystem::path& path, int kind = LOCK_EX, mode_t mode = 0600);

}  // namespace longship
