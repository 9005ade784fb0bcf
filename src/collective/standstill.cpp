// SPDX-License-Identifier: Apache-2.0
#include "standstill.h"

#include <algorithm>
#include <cstddef>

namespace longship::collective {

std::vector<char> stuck_ranks(const std::vector<RankNeeds>& ranks) {
  std::vector<char> stuck(ranks.size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) stuck[rank] = ranks[rank].waits ? 1 : 0;
  const auto may_come = [&](const Need& need) {
    return std::none_of(need.missing.begin(), need.missing.end(),
                        [&](int rank) { return stuck[static_cast<std::size_t>(rank)] != 0; });
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      if (stuck[rank] == 0 || std::none_of(ranks[rank].needs.begin(), ranks[rank].needs.end(), may_come))
        continue;
      stuck[rank] = 0;
      changed = true;
    }
  }
  return stuck;
}

}  // namespace longship::collective
