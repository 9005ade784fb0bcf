// SPDX-License-Identifier: Apache-2.0
#include "tpe.h"

#include <algorithm>

#include "base/random.h"
#include "simple_samplers.h"

namespace longship::study {
namespace {

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
  auto& [good, rest, _] = estimator(history, space, number);
  Random random({seed_, number, hash_of(history.parameter(space[0]).name), space.size()});
  std::vector<double> draws;
  for (std::size_t i = 0; i < settings_.candidates; ++i) {  // from all kernels in turn, not as chance has it
    const double share =
        (static_cast<double>(i) + random.uniform()) / static_cast<double>(settings_.candidates);
    good.sample(random, draws, share);
  }
  const auto for_it = good.log_density(draws);
  const auto against = rest.log_density(draws);
  std::size_t best = 0;
  for (std::size_t i = 1; i < for_it.size(); ++i)
    if (for_it[i] - against[i] > for_it[best] - against[best]) best = i;
  const auto begin = draws.begin() + static_cast<std::ptrdiff_t>(best * space.size());
  return {begin, begin + static_cast<std::ptrdiff_t>(space.size())};
}

TpeSampler::Estimator& TpeSampler::estimator(const History& history, const Space& space, TrialNumber asking) {
  auto found = estimators_.find(space);
  if (found == estimators_.end()) {
    std::vector<Axis> axes;
    for (const auto id : space) axes.push_back(history.parameter(id).axis);
    const auto weights = history.objectives() == 1 ? Parzen::Weights::newest_more : Parzen::Weights::equal;
    Estimator fresh{
        Parzen(axes, weights, settings_.sharpness), Parzen(axes, Parzen::Weights::newest_more), {}};
    found = estimators_.emplace(space, std::move(fresh)).first;
  }
  split_.follow(history);
  auto& estimator = found->second;
  const auto& wanted = split_.sides();
  const auto self = history.index_of(asking);
  estimator.sides.resize(wanted.size(), Side::none);
  for (std::size_t index = 0; index < wanted.size(); ++index) {
    const Side side = self == index ? Side::none : wanted[index];  // nobody avoids himself
    if (side != estimator.sides[index]) move(history, space, estimator, index, side);
  }
  estimator.good.prepare();
  estimator.rest.prepare();
  return estimator;
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
