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

// So many trials make a forecast: with more it would take longer than all the rest of a question.
constexpr std::size_t most_known = 64;
// In turns of seven trials: one looks around, among so many times as many draws; three go down elsewhere at
// first, one when there are more trials, and none when there are many.
constexpr TrialNumber turn = 7;
constexpr std::size_t very_few = 60;
constexpr std::size_t around = 5;
constexpr std::size_t few = 300;
constexpr std::size_t elsewhere_draws = 192;
// With few trials a forecast is quick, and draws from the good ones' kernels may be more: at most this often.
constexpr double most_draws = 3;

std::vector<Axis> axes_of(const History& history, const std::vector<ParameterId>& space) {
  std::vector<Axis> axes;
  axes.reserve(space.size());
  for (const auto id : space) axes.push_back(history.parameter(id).axis);
  return axes;
}

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

// The one with the most merit. What was tried is not tried again as long as there is something else.
std::vector<double> best_of(const Tried& tried, std::span<const double> draws,
                            std::span<const double> merits) {
  const auto size = draws.size() / merits.size();
  std::vector<double> best;
  std::pair<bool, double> most;  // whether it is new, its merit
  for (std::size_t i = 0; i < merits.size(); ++i) {
    const auto values = draws.subspan(i * size, size);
    std::vector<double> draw(values.begin(), values.end());
    const std::pair here{!tried.contains(draw), merits[i]};
    if (!best.empty() && here <= most) continue;
    best = std::move(draw);
    most = here;
  }
  return best;
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
  const auto values = best_draw(history, all, number, view_of(history, number));
  Plan plan;
  for (std::size_t i = 0; i < all.size(); ++i) plan.point.push_back({all[i], values[i]});
  return plan;
}

double TpeSampler::one(const History& history, TrialNumber number, ParameterId parameter) {
  if (history.finished_count() < settings_.startup)
    return settings_.even_startup ? even_value(seed_, number, parameter, history.parameter(parameter))
                                  : random_value(seed_, number, history.parameter(parameter));
  return best_draw(history, {parameter}, number, View::none)[0];
}

// Several processes share the numbers: each looks around now and then, and nobody has to count.
TpeSampler::View TpeSampler::view_of(const History& history, TrialNumber number) const {
  if (!settings_.foretell || history.objectives() > 1) return View::none;
  const auto place = number % turn;
  if (place == 0) return View::everywhere;
  const auto trials = history.finished_count();
  const bool elsewhere = trials < very_few ? place % 2 == 0 : trials < few && place == 2;
  return elsewhere ? View::elsewhere : View::near;
}

std::vector<double> TpeSampler::best_draw(const History& history, const Space& space, TrialNumber number,
                                          View view) {
  auto& estimator = estimator_of(history, space, number);
  if (view == View::elsewhere) {
    if (auto draw = draw_elsewhere(history, space, estimator, number); !draw.empty()) return draw;
    view = View::near;
  }
  const bool foretells = view != View::none;
  Random random({seed_, number, hash_of(history.parameter(space[0]).name), space.size()});
  const auto anywhere = [&](std::size_t count) {
    std::vector<double> draws;
    for (std::size_t i = 0; i < count; ++i) estimator.good.sample(random, draws, 0);
    return draws;
  };
  const auto near_the_good = [&] {
    const double more = std::clamp(few / static_cast<double>(history.finished_count() + 1), 1.0, most_draws);
    const auto count =
        static_cast<std::size_t>(static_cast<double>(settings_.candidates) * (foretells ? more : 1));
    std::vector<double> draws;
    // From all kernels in turn, not as chance has it.
    for (std::size_t i = 0; i < count; ++i) {
      const double share = (static_cast<double>(i) + random.uniform()) / static_cast<double>(count);
      estimator.good.sample(random, draws, share);
    }
    return draws;
  };
  const auto best_among = [&](const std::vector<double>& draws) {
    return best_of(estimator.tried, draws, merits(history, space, estimator, view, draws));
  };
  auto best =
      best_among(view == View::everywhere ? anywhere(around * settings_.candidates) : near_the_good());
  if (!estimator.tried.contains(best)) return best;
  return best_among(anywhere(settings_.candidates));  // all near the good ones has been tried
}

// Judged by the forecast from the trials around: it knows that basin best.
std::vector<double> TpeSampler::draw_elsewhere(const History& history, const Space& space,
                                               const Estimator& estimator, TrialNumber number) const {
  const auto land = landscape(history, space, number);
  const auto basin = basin_to_refine(land);
  if (!basin) return {};
  const auto as_values = [&](std::span<const double> places) {
    std::vector<double> values;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const auto& axis = land.axes[i % land.axes.size()];
      values.push_back(axis.is_category() ? places[i] : axis.value(places[i]));
    }
    return values;
  };
  Known known;
  for (const auto index : nearest_to(land, basin->deepest, most_known)) {
    const auto point = as_values(land.place(index));
    known.points.insert(known.points.end(), point.begin(), point.end());
    known.losses.push_back(land.losses[index]);
  }
  known.rival = 0;
  Random random({seed_, number, hash_of(history.parameter(space[0]).name), 0x6261});
  const auto draws = as_values(places_in(land, *basin, elsewhere_draws, random));
  const auto foretold = log_improvements(land.axes, known, draws);
  if (foretold.empty()) return {};
  auto best = best_of(estimator.tried, draws, foretold);
  if (estimator.tried.contains(best)) return {};
  return best;
}

// All trials; what still runs is believed to end badly, so that the next one goes elsewhere.
Landscape TpeSampler::landscape(const History& history, const Space& space, TrialNumber asking) const {
  Landscape land{axes_of(history, space), {}, {}};
  const auto bad = bad_loss(history);
  if (!bad) return land;
  for (const auto& trial : history.trials()) {
    const bool runs = trial.state == TrialState::running && settings_.avoid_running && trial.number != asking;
    if (trial.state != TrialState::complete && trial.state != TrialState::pruned && !runs) continue;
    const auto point = point_of(trial, space);
    if (point.empty()) continue;
    for (std::size_t i = 0; i < point.size(); ++i)
      land.places.push_back(land.axes[i].is_category() ? point[i] : land.axes[i].position(point[i]));
    const bool valid = trial.state == TrialState::complete && violation(trial) == 0;
    land.losses.push_back(valid ? std::min(history.loss(trial), *bad) : *bad);
  }
  return land;
}

// How likely each draw is a good one, times how much better than the best it may be. What is far from all
// trials the densities know nothing of.
std::vector<double> TpeSampler::merits(const History& history, const Space& space, const Estimator& estimator,
                                       View view, std::span<const double> draws) const {
  std::vector<double> foretold;
  if (view != View::none)
    foretold = log_improvements(axes_of(history, space), known(history, space, view), draws);
  if (view == View::everywhere && !foretold.empty()) return foretold;
  auto merits = estimator.good.log_density(draws);
  const auto against = estimator.rest.log_density(draws);
  for (std::size_t i = 0; i < merits.size(); ++i)
    merits[i] += (foretold.empty() ? 0 : foretold[i]) - against[i];
  return merits;
}

// How bad the worst fifth is says nothing about where the best may be, and would blur what does; what was
// pruned or violates constraints counts as one of them. Nothing if no trial is complete.
std::optional<double> TpeSampler::bad_loss(const History& history) const {
  const auto ranked = split_.ranked();
  if (ranked.valid == 0) return {};
  return history.loss(history.trials()[ranked.indices[ranked.valid * 4 / 5]]);
}

// The best trials, which make a map of where they are; for the whole space some of every rank.
Known TpeSampler::known(const History& history, const Space& space, View view) const {
  const auto ranked = split_.ranked();
  const auto bad = bad_loss(history);
  if (!bad) return {};
  const auto count = std::min(ranked.indices.size(), most_known);
  Known known;
  for (std::size_t i = 0; i < count; ++i) {
    const auto rank = view == View::everywhere ? i * ranked.indices.size() / count : i;
    const auto& trial = history.trials()[ranked.indices[rank]];
    const auto point = point_of(trial, space);
    if (point.empty()) continue;
    known.points.insert(known.points.end(), point.begin(), point.end());
    known.losses.push_back(rank < ranked.valid ? std::min(history.loss(trial), *bad) : *bad);
  }
  return known;
}

TpeSampler::Estimator& TpeSampler::estimator_of(const History& history, const Space& space,
                                                TrialNumber asking) {
  auto found = estimators_.find(space);
  if (found == estimators_.end()) {
    auto axes = axes_of(history, space);
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
