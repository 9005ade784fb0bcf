// SPDX-License-Identifier: Apache-2.0
// Who runs a local pilot, so that it is found again by another process, after a restart of the machine, or
// after its number went to somebody else. supervisor.h has the functions that others call.
#pragma once
#include <cstdint>
#include <string>

#include "supervisor.h"

namespace longship::batch {

[[nodiscard]] std::string about_this_host();   // "boot …\nhost …\n"
[[nodiscard]] std::uint64_t own_start_time();  // of this process, in ticks since boot; allocates nothing
[[nodiscard]] std::string aside_of(const std::string& path);  // a fresh name in the same directory

}  // namespace longship::batch
