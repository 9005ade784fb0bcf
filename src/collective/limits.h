// SPDX-License-Identifier: Apache-2.0
// What may stand against more shared memory, found out before the kernel answers with a signal.
#pragma once
#include <cstdint>

namespace longship::collective {

// Throws Error if a file, which shared memory is to the kernel, must not be that long.
void check_file_limit(std::uint64_t length);
[[nodiscard]] bool within_file_limit(std::uint64_t length);

}  // namespace longship::collective
