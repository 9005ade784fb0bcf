// SPDX-License-Identifier: Apache-2.0
// Several objectives at once: who is better than whom, and which trials no other one beats.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "history.h"

namespace longship::study {

// Nowhere worse and somewhere better; losses.
[[nodiscard]] bool dominates(std::span<const double> one, std::span<const double> other);

struct Rank {
  std::size_t front = 0;  // 0: nobody dominates it; 1: only those of front 0 do; …
  double crowding = 0;    // how far its neighbours on the front are; infinite at the ends
};
// Deb et al., NSGA-II (2002).
[[nodiscard]] std::vector<Rank> rank_by_dominance(const std::vector<std::vector<double>>& losses);

// The best complete trials that keep the constraints, by their number: one with one objective (the first of
// equals), the Pareto front with several.
[[nodiscard]] std::vector<TrialNumber> best_trials(const History& history);

}  // namespace longship::study
