// SPDX-License-Identifier: Apache-2.0
#include "gp.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "descent.h"
#include "improvement.h"
#include "simple_samplers.h"
#include "sobol.h"

namespace longship::study {
namespace {

using Place = std::vector<double>;  // a position on each axis; of a category the choice

constexpr TrialNumber every_to_the_end = 4;  // trial may go on in a basin that is exhausted
constexpr std::size_t least_left = 5;        // trials outside, to learn from
constexpr std::size_t few_left = 100;
constexpr std::size_t most_enumerated = 24;  // steps that are tried one by one; finer ones are rounded

double coordinate(const Axis& axis, double value) {
  return axis.is_category() ? value : axis.position(value);
}

// Mean 0 and deviation 1.
void standardise(std::vector<double>& targets) {
  const auto count = static_cast<double>(targets.size());
  const double mean = std::accumulate(targets.begin(), targets.end(), 0.0) / count;
  double squares = 0;
  for (const double target : targets) squares += (target - mean) * (target - mean);
  const double deviation = std::sqrt(squares / count);
  for (auto& target : targets) target = deviation > 0 ? (target - mean) / deviation : 0;
}

// If a few losses are terrible, all are drawn together by their logarithm: those must not hide the
// differences between the good ones. What is large the first trials say, which are spread evenly: later ones
// crowd around the best, and by them a local minimum would be all there is. Then mean 0 and deviation 1.
std::vector<double> as_targets(std::vector<double> losses, std::vector<double> first) {
  double worst = -HUGE_VAL, best = HUGE_VAL;
  for (const double loss : losses)
    if (std::isfinite(loss)) {
      worst = std::max(worst, loss);
      best = std::min(best, loss);
    }
  if (worst < best) return std::vector<double>(losses.size(), 0);
  for (auto& loss : losses)
    loss = std::clamp(loss, best, worst);  // what is infinite counts as the worst or best
  const auto half = first.begin() + static_cast<std::ptrdiff_t>(first.size() / 2);
  std::nth_element(first.begin(), half, first.end());
  const double middle = std::min(*half, worst) - best;
  if (middle > 0 && worst - best > 10 * middle)
    for (auto& loss : losses) loss = std::log1p((loss - best) / middle);
  standardise(losses);
  return losses;
}

}  // namespace

// The space as the process sees it.
struct GpSampler::Axes {
  std::vector<Axis> axes;

  [[nodiscard]] std::size_t size() const { return axes.size(); }
  [[nodiscard]] bool is_enumerated(std::size_t i) const {
    return axes[i].is_category() || (axes[i].is_stepped() && axes[i].count() <= most_enumerated);
  }
  [[nodiscard]] std::vector<double> positions(std::size_t i) const {
    std::vector<double> all;
    for (std::size_t k = 0; k < axes[i].count(); ++k) {
      const double share = (static_cast<double>(k) + 0.5) / static_cast<double>(axes[i].count());
      const double value = axes[i].is_category() ? static_cast<double>(k) : axes[i].value(share);
      const double position = coordinate(axes[i], value);
      if (all.empty() || all.back() != position) all.push_back(position);
    }
    return all;
  }
  [[nodiscard]] std::vector<bool> choices() const {
    std::vector<bool> all;
    for (const auto& axis : axes) all.push_back(axis.is_category());
    return all;
  }
  // To the nearest that the parameter has.
  [[nodiscard]] double settled(std::size_t i, double position) const {
    if (axes[i].is_category()) return position;
    return axes[i].is_stepped() ? axes[i].position(axes[i].value(position)) : std::clamp(position, 0.0, 1.0);
  }
  [[nodiscard]] double from_unit(std::size_t i, double unit) const {
    return axes[i].is_category() ? axes[i].value(unit) : settled(i, unit);
  }
};

namespace {

// The search for the place with the largest expected improvement.
template <class Axes>
class Search {
 public:
  Search(const Axes& axes, const GaussianProcess& process, double best)
      : axes_(axes), process_(process), best_(best) {}

  [[nodiscard]] std::vector<std::pair<double, Place>> ranked(const std::vector<Place>& places) const {
    std::vector<double> flat;
    for (const auto& place : places) flat.insert(flat.end(), place.begin(), place.end());
    const auto predictions = process_.predict_all(flat);
    std::vector<std::pair<double, Place>> result;
    for (std::size_t i = 0; i < places.size(); ++i)
      result.emplace_back(-log_expected_improvement(best_, predictions[i].mean, predictions[i].deviation).log,
                          places[i]);
    std::sort(result.begin(), result.end());
    return result;
  }

  // Along the slopes where there are some, and value by value where there are none, in turn.
  double climb(Place& place) const {
    double value = slide(place);
    for (int round = 0; round < 3; ++round) {
      const double before = value;
      if (!switch_values(place, value)) break;
      value = slide(place);
      if (value > before - 1e-6) break;
    }
    for (std::size_t i = 0; i < place.size(); ++i) place[i] = axes_.settled(i, place[i]);
    return value;
  }

 private:
  [[nodiscard]] double height(std::span<const double> place) const {
    const auto prediction = process_.predict(place, false);
    return -log_expected_improvement(best_, prediction.mean, prediction.deviation).log;
  }

  double slide(Place& place) const {
    Box box;
    for (std::size_t i = 0; i < place.size(); ++i) {
      box.low.push_back(axes_.is_enumerated(i) ? place[i] : 0);
      box.high.push_back(axes_.is_enumerated(i) ? place[i] : 1);
    }
    const auto downhill = [this](std::span<const double> at, std::span<double> gradient) {
      const auto prediction = process_.predict(at, true);
      const auto gain = log_expected_improvement(best_, prediction.mean, prediction.deviation);
      for (std::size_t i = 0; i < gradient.size(); ++i)
        gradient[i] =
            -(gain.by_mean * prediction.mean_slope[i] + gain.by_deviation * prediction.deviation_slope[i]);
      return -gain.log;
    };
    return descend(downhill, box, place, {25, 1e-3});
  }

  bool switch_values(Place& place, double& value) const {
    bool changed = false;
    for (std::size_t i = 0; i < place.size(); ++i) {
      if (!axes_.is_enumerated(i)) continue;
      const double before = place[i];
      double chosen = before;
      for (const double other : axes_.positions(i)) {
        place[i] = other;
        if (const double there = other == before ? value : height(place); there < value) {
          value = there;
          chosen = other;
        }
      }
      place[i] = chosen;
      changed = changed || chosen != before;
    }
    return changed;
  }

  const Axes& axes_;
  const GaussianProcess& process_;
  double best_;
};

bool is_among(const std::vector<double>& flat, const Place& place) {
  for (std::size_t at = 0; at < flat.size(); at += place.size())
    if (std::equal(place.begin(), place.end(), flat.begin() + static_cast<std::ptrdiff_t>(at))) return true;
  return false;
}

}  // namespace

GpSampler::GpSampler(std::uint64_t seed, GpSettings settings)
    : seed_(seed), settings_(settings), alone_(seed, {}) {}

double GpSampler::one(const History& history, TrialNumber number, ParameterId parameter) {
  if (history.finished_count() < settings_.startup)
    return even_value(seed_, number, parameter, history.parameter(parameter));
  return alone_.one(history, number, parameter);
}

Plan GpSampler::plan(const History& history, TrialNumber number, std::span<const ParameterId> space) {
  if (history.objectives() > 1) return alone_.plan(history, number, space);
  if (history.finished_count() < settings_.startup || space.empty()) return {};
  const Space all(space.begin(), space.end());
  Axes axes;
  for (const auto id : all) axes.axes.push_back(history.parameter(id).axis);
  auto known = gather(history, all, number);
  if (known.targets.empty()) return {};
  begin(axes, all);
  learn(known);
  auto place = best_place(axes, *whole_.process, known, number, nullptr);
  if (number % every_to_the_end != 0) {
    const Exhausted exhausted({whole_.process->weights(), axes.choices()}, known.points, known.targets);
    if (exhausted.contains(place) && exhausted.left().size() >= least_left)
      place = place_beyond(axes, known, exhausted, number);
  }
  Plan plan;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& axis = axes.axes[i];
    plan.point.push_back({all[i], axis.is_category() ? place[i] : axis.value(place[i])});
  }
  return plan;
}

GpSampler::Known GpSampler::gather(const History& history, const Space& space, TrialNumber asking) const {
  Known known;
  std::vector<std::pair<double, std::size_t>> complete;  // loss, index
  for (std::size_t index = 0; index < history.trials().size(); ++index) {
    const auto& trial = history.trials()[index];
    if (trial.number == asking || is_finished(trial.state) != (trial.state == TrialState::complete)) continue;
    Place place;
    for (const auto id : space) {
      const auto* assigned = find(trial.point, id);
      if (assigned == nullptr) assigned = find(trial.planned, id);
      if (assigned != nullptr) place.push_back(coordinate(history.parameter(id).axis, assigned->value));
    }
    if (place.size() != space.size()) continue;
    if (trial.state == TrialState::complete)
      complete.emplace_back(violation(trial) > 0 ? HUGE_VAL : history.loss(trial), index);
    else if (trial.state == TrialState::running)
      known.running.insert(known.running.end(), place.begin(), place.end());
  }
  std::vector<double> first;
  for (std::size_t i = 0; i < std::min<std::size_t>(complete.size(), 20); ++i)
    first.push_back(complete[i].first);
  if (complete.size() > settings_.most_points) {  // the best half, and the newest
    const auto half = static_cast<std::ptrdiff_t>(settings_.most_points / 2);
    std::nth_element(complete.begin(), complete.begin() + half, complete.end());
    std::sort(complete.begin() + half, complete.end(), [](auto& a, auto& b) { return a.second > b.second; });
    complete.resize(settings_.most_points);
    std::sort(complete.begin(), complete.end(), [](auto& a, auto& b) { return a.second < b.second; });
  }
  std::vector<double> losses;
  for (const auto& [loss, index] : complete) {
    losses.push_back(loss);
    for (const auto id : space)
      known.points.push_back(
          coordinate(history.parameter(id).axis, find(history.trials()[index].point, id)->value));
  }
  if (!losses.empty()) known.targets = as_targets(std::move(losses), std::move(first));
  return known;
}

void GpSampler::begin(const Axes& axes, const Space& space) {
  if (whole_.process && space_ == space) return;
  space_ = space;
  for (auto* learner : {&whole_, &beyond_}) {
    learner->process.emplace(axes.choices());
    learner->known = learner->next_fit = 0;
  }
}

// With many points the lengths are looked for now and then only; at once where points were taken away.
void GpSampler::Learner::learn(std::span<const double> points, std::span<const double> targets,
                               bool noiseless) {
  const auto count = targets.size();
  if (count < known) next_fit = 0;
  known = count;
  process->know(points, targets);
  if (count < next_fit) return;
  process->fit(next_fit == 0 ? 60 : 20, noiseless);
  next_fit = count + 1 + (count > 60 ? count / 20 : 0);
}

// What is still running is believed to end as foreseen, so that the next trial goes elsewhere.
void GpSampler::learn(Known& known) {
  whole_.learn(known.points, known.targets, settings_.noiseless);
  if (known.running.empty()) return;
  const auto believed = whole_.process->predict_all(known.running);
  known.points.insert(known.points.end(), known.running.begin(), known.running.end());
  for (const auto& prediction : believed) known.targets.push_back(prediction.mean);
  whole_.process->know(known.points, known.targets);
}

// As if there were nothing but what lies outside, with lengths of its own: while there is little of it,
// looked for anew each time, for the last ones may come from another basin.
std::vector<double> GpSampler::place_beyond(const Axes& axes, const Known& known, const Exhausted& exhausted,
                                            TrialNumber number) {
  Known left;
  for (const auto index : exhausted.left()) {
    const auto from = known.points.begin() + static_cast<std::ptrdiff_t>(index * axes.size());
    left.points.insert(left.points.end(), from, from + static_cast<std::ptrdiff_t>(axes.size()));
    left.targets.push_back(known.targets[index]);
  }
  standardise(left.targets);
  if (left.targets.size() <= few_left) {
    beyond_.process.emplace(axes.choices());
    beyond_.next_fit = 0;
  }
  beyond_.learn(left.points, left.targets, settings_.noiseless);
  return best_place(axes, *beyond_.process, left, number, &exhausted);
}

std::vector<double> GpSampler::best_place(const Axes& axes, const GaussianProcess& likeliest,
                                          const Known& known, TrialNumber number,
                                          const Exhausted* closed) const {
  // The likeliest lengths come from what is known, most of it far from the best: a parameter that matters
  // only there seems not to matter at all, and would stay where it is. So every other trial doubts.
  const bool doubts = number % 2 == 1;
  const auto wary = doubts ? std::optional(likeliest.wary(1)) : std::nullopt;
  const GaussianProcess& process = wary ? *wary : likeliest;
  const auto d = axes.size();
  const auto best = static_cast<std::size_t>(std::min_element(known.targets.begin(), known.targets.end()) -
                                             known.targets.begin());
  Random random({seed_, number, 0x6770});
  std::vector<Place> places;
  const auto count = known.targets.size();
  // With many points to learn from it takes long to foretell what a place is worth, and most are near the
  // best.
  const std::size_t spread = count > 160 ? 96 : count > 120 ? 192 : 384;
  for (std::uint32_t i = 0; i < spread; ++i) {
    places.emplace_back();
    for (std::uint32_t k = 0; k < d; ++k)
      places.back().push_back(axes.from_unit(k, sobol(mixed(seed_, number), i, k)));
  }
  for (std::size_t i = 0; i < spread / 2; ++i) {  // around the best: nearer and nearer
    const double reach = 0.3 * std::pow(0.5, static_cast<double>(i % 8));
    places.emplace_back();
    for (std::size_t k = 0; k < d; ++k) {
      const double from = known.points[best * d + k];
      if (axes.axes[k].is_category())
        places.back().push_back(random.uniform() < 0.8 ? from : axes.from_unit(k, random.uniform()));
      else
        places.back().push_back(axes.settled(k, std::clamp(from + reach * random.normal(), 0.0, 1.0)));
    }
  }
  const auto is_closed = [&](const Place& place) { return closed != nullptr && closed->contains(place); };
  auto open = places;
  std::erase_if(open, is_closed);
  const Search search(axes, process, known.targets[best]);
  const auto ranked = search.ranked(open);
  std::vector<std::pair<double, Place>> climbed;
  for (std::size_t i = 0; i < std::min<std::size_t>(4, ranked.size()); ++i) {
    auto place = ranked[i].second;
    const double height = search.climb(place);
    climbed.emplace_back(height, std::move(place));
  }
  std::sort(climbed.begin(), climbed.end());
  climbed.insert(climbed.end(), ranked.begin(), ranked.end());
  for (const auto& [_, place] : climbed)
    if (!is_among(known.points, place) && !is_closed(place)) return place;
  return places[random.below(places.size())];  // all has been tried
}

}  // namespace longship::study
