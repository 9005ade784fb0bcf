// SPDX-License-Identifier: Apache-2.0
// One agent per spool, on whichever machine it runs as far as the file system knows.
#pragma once
#include <filesystem>

#include "base/fd.h"

namespace longship::agent {

// Held as long as the descriptor is open. An Error with the other one's machine and process if there is one.
[[nodiscard]] Fd lock_spool(const std::filesystem::path& lock);

}  // namespace longship::agent
