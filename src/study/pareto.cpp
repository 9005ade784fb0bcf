// SPDX-License-Identifier: Apache-2.0
#include "pareto.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace longship::study {
namespace {

using Losses = std::vector<std::vector<double>>;

// Sorted by all objectives a point can only be dominated by one before it, and it belongs to the first front
// of which no member dominates it.
std::vector<std::vector<std::size_t>> fronts_of(const Losses& losses) {
  std::vector<std::size_t> order(losses.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return losses[a] < losses[b]; });
  std::vector<std::vector<std::size_t>> fronts;
  for (const auto point : order) {
    const auto home = std::find_if(fronts.begin(), fronts.end(), [&](const auto& front) {
      return std::none_of(front.rbegin(), front.rend(),
                          [&](auto member) { return dominates(losses[member], losses[point]); });
    });
    (home == fronts.end() ? fronts.emplace_back() : *home).push_back(point);
  }
  return fronts;
}

void add_crowding(const Losses& losses, std::vector<std::size_t> front, std::vector<Rank>& ranks) {
  for (std::size_t objective = 0; objective < losses[front[0]].size(); ++objective) {
    std::stable_sort(front.begin(), front.end(),
                     [&](auto a, auto b) { return losses[a][objective] < losses[b][objective]; });
    ranks[front.front()].crowding = ranks[front.back()].crowding = std::numeric_limits<double>::infinity();
    const double range = losses[front.back()][objective] - losses[front.front()][objective];
    if (!(range > 0) || !std::isfinite(range)) continue;
    for (std::size_t i = 1; i + 1 < front.size(); ++i)
      ranks[front[i]].crowding += (losses[front[i + 1]][objective] - losses[front[i - 1]][objective]) / range;
  }
}

}  // namespace

bool dominates(std::span<const double> one, std::span<const double> other) {
  bool better = false;
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (one[i] > other[i]) return false;
    better = better || one[i] < other[i];
  }
  return better;
}

std::vector<Rank> rank_by_dominance(const Losses& losses) {
  std::vector<Rank> ranks(losses.size());
  const auto fronts = fronts_of(losses);
  for (std::size_t number = 0; number < fronts.size(); ++number) {
    for (const auto member : fronts[number]) ranks[member].front = number;
    add_crowding(losses, fronts[number], ranks);
  }
  return ranks;
}

std::vector<TrialNumber> best_trials(const History& history) {
  Losses losses;
  std::vector<TrialNumber> numbers;
  for (const auto& trial : history.trials()) {
    if (trial.state != TrialState::complete || violation(trial) > 0) continue;
    numbers.push_back(trial.number);
    losses.emplace_back();
    for (std::size_t i = 0; i < history.objectives(); ++i) losses.back().push_back(history.loss(trial, i));
  }
  if (numbers.empty()) return {};
  if (history.objectives() == 1)
    return {
        numbers[static_cast<std::size_t>(std::min_element(losses.begin(), losses.end()) - losses.begin())]};
  std::vector<TrialNumber> best;
  const auto fronts = fronts_of(losses);
  for (const auto index : fronts[0]) best.push_back(numbers[index]);
  std::sort(best.begin(), best.end());
  return best;
}

}  // namespace longship::study
