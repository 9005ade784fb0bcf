// SPDX-License-Identifier: Apache-2.0
// The cores that this process may use: what the batch system or the user left it. Also on machines with more
// of them than the C library's own sets hold, which are 1,024.
#pragma once
#include <vector>

namespace longship {

using Cores = std::vector<int>;

[[nodiscard]] Cores allowed_cores();  // never none

void bind_to(const Cores& cores);  // the calling process; harmless where it is forbidden

}  // namespace longship
