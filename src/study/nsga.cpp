// SPDX-License-Identifier: Apache-2.0
#include "nsga.h"

#include <algorithm>
#include <tuple>

#include "base/random.h"
#include "pareto.h"
#include "simple_samplers.h"

namespace longship::study {

double NsgaSampler::one(const History& history, TrialNumber number, ParameterId parameter) {
  return random_value(seed_, number, history.parameter(parameter));
}

// Indices of the best, the best first: those that keep the constraints, by front, the lonely before the
// crowded.
std::vector<std::size_t> NsgaSampler::parents(const History& history,
                                              std::span<const ParameterId> space) const {
  std::vector<std::vector<double>> losses;
  std::vector<std::size_t> indices;
  for (std::size_t index = 0; index < history.trials().size(); ++index) {
    const auto& trial = history.trials()[index];
    const bool whole = std::all_of(space.begin(), space.end(),
                                   [&](ParameterId id) { return find(trial.point, id) != nullptr; });
    if (trial.state != TrialState::complete || !whole) continue;
    indices.push_back(index);
    losses.emplace_back();
    for (std::size_t i = 0; i < history.objectives(); ++i) losses.back().push_back(history.loss(trial, i));
  }
  const auto ranks = rank_by_dominance(losses);
  std::vector<std::tuple<double, std::size_t, double, std::size_t>> order;
  for (std::size_t i = 0; i < indices.size(); ++i)
    order.emplace_back(violation(history.trials()[indices[i]]), ranks[i].front, -ranks[i].crowding,
                       indices[i]);
  std::sort(order.begin(), order.end());
  order.resize(std::min(order.size(), settings_.population));
  std::vector<std::size_t> best;
  for (const auto& entry : order) best.push_back(std::get<3>(entry));
  return best;
}

Plan NsgaSampler::plan(const History& history, TrialNumber number, std::span<const ParameterId> space) {
  if (history.finished_count() < settings_.population || space.empty()) return {};
  const auto best = parents(history, space);
  if (best.size() < 2) return {};
  Random random({seed_, number, 0x6e736761});
  const auto winner = [&] {
    return best[std::min(random.below(best.size()), random.below(best.size()))];
  };  // of two
  const auto& first = history.trials()[winner()].point;
  const auto& second = history.trials()[winner()].point;
  const bool crossed = random.uniform() < settings_.crossover;
  const double mutation = settings_.mutation > 0 ? settings_.mutation : 1 / static_cast<double>(space.size());
  Plan plan;
  for (const auto id : space) {
    const auto& axis = history.parameter(id).axis;
    double value = find(crossed && random.uniform() < settings_.swapping ? second : first, id)->value;
    if (random.uniform() < mutation) {
      const bool near = !axis.is_category() && random.uniform() < 0.5;
      value = axis.value(near ? axis.position(value) + 0.1 * random.normal() : random.uniform());
    }
    plan.point.push_back({id, value});
  }
  return plan;
}

}  // namespace longship::study
