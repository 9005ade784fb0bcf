// SPDX-License-Identifier: Apache-2.0
#include "tpe.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/random.h"
#include "simple_samplers.h"

namespace longship::study {
namespace {

// The rest is to tell poor regions. With kernels as narrow as those of the good ones it would cut a hole
// around each trial, also around those next to the best: where to go on from there the holes would say.
constexpr double narrowest_of_the_rest = 0.05;

// What a trial gave these parameters; what it will give them, if it is still running. Nothing if one is
// missing.
std::vector<double> point_of(const Trial& trial, const std::vector<ParameterId>& space) {
  std::vector<double> values;
  for (const auto id : space) {
    const auto* assigned = find(trial.point, id);
    if (assigned == nullptr && trial.state == TrialState::running) assigned = find(trial.planned, id);
    if (assigned == nullptr) return {};
    values.push_back(assigned->value);
  }
  return values;
}

}  // namespace

TpeSampler::TpeSampler(std::uint64_t seed, TpeSettings settings)
    : seed_(seed), settings_(settings), split_(settings.avoid_running) {}

Plan TpeSampler::plan(const History& history, TrialNumber number, std::span<const ParameterId> space) {
  if (!settings_.together.value_or(history.objectives() == 1)) return {};
  if (history.finished_count() < settings_.startup || space.empty()) return {};
  const Space all(space.begin(), space.end());
  // Fewer parameters are common than before: those densities are not asked for again.
  std::erase_if(estimators_, [&](const auto& entry) { return entry.first.size() > 1 && entry.first != all; });
  const auto values = best_draw(history, all, number);
  Plan plan;
  for (std::size_t i = 0; i < all.size(); ++i) plan.point.push_back({all[i], values[i]});
  return plan;
}

double TpeSampler::one(const History& history, TrialNumber number, ParameterId parameter) {
  if (history.finished_count() < settings_.startup)
    return settings_.even_startup ? even_value(seed_, number, parameter, history.parameter(parameter))
                                  : random_value(seed_, number, history.parameter(parameter));
  return best_draw(history, {parameter}, number)[0];
}

std::vector<double> TpeSampler::best_draw(const History& history, const Space& space, TrialNumber number) {
  auto& estimator = estimator_of(history, space, number);
  Random random({seed_, number, hash_of(history.parameter(space[0]).name), space.size()});
  std::vector<double> draws;
  for (std::size_t i = 0; i < settings_.candidates; ++i) {  // from all kernels in turn, not as chance has it
    const double share =
        (static_cast<double>(i) + random.uniform()) / static_cast<double>(settings_.candidates);
    estimator.good.sample(random, draws, share);
  }
  auto best = best_of(estimator, space.size(), draws);
  if (!estimator.tried.contains(best)) return best;
  draws.clear();  // all near the good ones has been tried: anywhere else, then
  for (std::size_t i = 0; i < settings_.candidates; ++i) estimator.good.sample(random, draws, 0);
  return best_of(estimator, space.size(), draws);
}

// The likeliest good one. What was tried is not tried again as long as there is something else.
std::vector<double> TpeSampler::best_of(const Estimator& estimator, std::size_t size,
                                        std::span<const double> draws) {
  const auto for_it = estimator.good.log_density(draws);
  const auto against = estimator.rest.log_density(draws);
  std::vector<double> best;
  std::pair<bool, double> merit;  // whether it is new, how likely it is good
  for (std::size_t i = 0; i < for_it.size(); ++i) {
    const auto values = draws.subspan(i * size, size);
    std::vector<double> draw(values.begin(), values.end());
    const std::pair here{!estimator.tried.contains(draw), for_it[i] - against[i]};
    if (!best.empty() && here <= merit) continue;
    best = std::move(draw);
    merit = here;
  }
  return best;
}

TpeSampler::Estimator& TpeSampler::estimator_of(const History& history, const Space& space,
                                                TrialNumber asking) {
  auto found = estimators_.find(space);
  if (found == estimators_.end()) {
    std::vector<Axis> axes;
    for (const auto id : space) axes.push_back(history.parameter(id).axis);
    const auto weights = history.objectives() == 1 ? Parzen::Weights::given : Parzen::Weights::equal;
    Parzen good(axes, weights, settings_.sharpness);
    Parzen rest(std::move(axes), Parzen::Weights::newest_more, 1,
                history.objectives() == 1 ? narrowest_of_the_rest : 0.01);
    found = estimators_.emplace(space, Estimator{std::move(good), std::move(rest), {}, {}}).first;
  }
  split_.follow(history);
  auto& estimator = found->second;
  estimator.tried.follow(history, space);
  const auto& wanted = split_.sides();
  const auto self = history.index_of(asking);
  estimator.sides.resize(wanted.size(), Side::none);
  for (std::size_t index = 0; index < wanted.size(); ++index) {
    const Side side = self == index ? Side::none : wanted[index];  // nobody avoids himself
    if (side != estimator.sides[index]) move(history, space, estimator, index, side);
  }
  if (history.objectives() == 1) weigh_by_rank(estimator);
  estimator.good.prepare();
  estimator.rest.prepare();
  return estimator;
}

// The best of the good ones says more of where the optimum is than the one that is just not bad: weights fall
// with the logarithm of the rank, as in evolution strategies (Hansen and Ostermeier 2001), and sum to their
// number, so that the wide kernel keeps its share.
void TpeSampler::weigh_by_rank(Estimator& estimator) const {
  std::vector<std::pair<std::size_t, double>> weights;
  for (const auto index : split_.good())
    if (estimator.good.has(index)) weights.emplace_back(index, 0);
  const auto count = static_cast<double>(weights.size());
  double sum = 0;
  for (std::size_t rank = 0; rank < weights.size(); ++rank)
    sum += weights[rank].second = std::log((count + 0.5) / static_cast<double>(rank + 1));
  for (auto& [_, weight] : weights) weight *= count / sum;
  estimator.good.give_weights(weights);
}

void TpeSampler::move(const History& history, const Space& space, Estimator& estimator, std::size_t index,
                      Side to) const {
  if (estimator.good.has(index)) estimator.good.erase(index);
  if (estimator.rest.has(index)) estimator.rest.erase(index);
  const auto& trial = history.trials()[index];
  const auto point = point_of(trial, space);
  if (!point.empty()) {
    if (to == Side::good) estimator.good.insert(index, point);
    if (to == Side::rest) estimator.rest.insert(index, point);
  }
  // A running trial may be given the missing values later: it is looked at again.
  const bool wait = point.empty() && trial.state == TrialState::running;
  estimator.sides[index] = wait ? Side::none : to;
}

}  // namespace longship::study
