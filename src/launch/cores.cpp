// SPDX-License-Identifier: Apache-2.0
#include "cores.h"

#include <algorithm>

namespace longship::launch {

std::vector<Cores> divide(const Cores& cores, int ranks, int threads) {
  const auto count = static_cast<int>(cores.size());
  std::vector<Cores> shares(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    auto& share = shares[static_cast<std::size_t>(rank)];
    if (ranks > count) {
      share = {cores[static_cast<std::size_t>(rank % count)]};
      continue;
    }
    const bool enough = threads > 0 && threads * ranks <= count;
    const int begin = enough ? rank * threads : rank * count / ranks;
    const int end = enough ? begin + threads : (rank + 1) * count / ranks;
    share.assign(cores.begin() + begin, cores.begin() + end);
  }
  return shares;
}

int threads_for(const Cores& cores, int threads) {
  return threads > 0 ? threads : std::max(1, static_cast<int>(cores.size()));
}

}  // namespace longship::launch
