// SPDX-License-Identifier: Apache-2.0
// Which cores a rank computes on: those this process may use, divided without a remainder being lost.
#pragma once
#include <vector>

#include "base/cores.h"

namespace longship::launch {

using longship::allowed_cores;
using longship::bind_to;
using longship::Cores;

// Neighbours stay together, since they share caches. With `threads` > 0 each rank gets that many as long as
// they last. More ranks than cores: ranks share, one core each.
[[nodiscard]] std::vector<Cores> divide(const Cores& cores, int ranks, int threads);

// How many threads a rank with these cores should compute with.
[[nodiscard]] int threads_for(const Cores& cores, int threads);

}  // namespace longship::launch
