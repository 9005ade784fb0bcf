// SPDX-License-Identifier: Apache-2.0
// Ranks in a sentence.
#pragma once
#include <string>
#include <vector>

namespace longship::collective {

// "1", "0 and 2", "0, 1 and 5", "0, 1, 2, 3, 4, 5, 6, 7 and 28 more".
[[nodiscard]] std::string listed(const std::vector<int>& ranks);

// "rank 1", "ranks 0 and 2".
[[nodiscard]] std::string the_ranks(const std::vector<int>& ranks);

}  // namespace longship::collective
