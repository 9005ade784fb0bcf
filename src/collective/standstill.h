// SPDX-License-Identifier: Apache-2.0
// Which ranks wait for each other and will for ever.
#pragma once
#include <vector>

namespace longship::collective {

// What one rank waits for: any of these operations would let it go on, once all ranks that it misses came.
struct Need {
  std::vector<int> missing;
};
struct RankNeeds {
  bool waits = false;  // all of its threads that could go on by themselves do not
  std::vector<Need> needs;
};

// By rank: 1 if it can never go on. A rank that does not wait may announce anything, and so may one of whose
// operations all missing ranks may.
[[nodiscard]] std::vector<char> stuck_ranks(const std::vector<RankNeeds>& ranks);

}  // namespace longship::collective
