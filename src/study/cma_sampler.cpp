// SPDX-License-Identifier: Apache-2.0
#include "cma_sampler.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "normal.h"
#include "pareto.h"
#include "simple_samplers.h"
#include "sobol.h"

namespace longship::study {
namespace {

constexpr int most_redraws = 20;
constexpr double longer = 1.1;  // each than the one before: the last nearly seven times as long as the first

}  // namespace

CmaSampler::CmaSampler(std::uint64_t seed, CmaSettings settings)
    : seed_(seed), settings_(settings), alone_(seed, {}) {}

double CmaSampler::one(const History& history, TrialNumber number, ParameterId parameter) {
  return alone_.one(history, number, parameter);
}

Plan CmaSampler::plan(const History& history, TrialNumber number, std::span<const ParameterId> space) {
  if (history.objectives() > 1) return alone_.plan(history, number, space);
  Space numbers, choices;  // choices have no distance: TPE looks after them
  for (const auto id : space) (history.parameter(id).axis.is_category() ? choices : numbers).push_back(id);
  if (history.finished_count() < settings_.startup || numbers.empty()) return {};
  if (numbers != space_) {
    space_ = numbers;
    generation_ = 0;
    restarts_ = 0;
    cursor_ = 0;
    counted_.clear();
    begin(history);
    tried_ = {};
  }
  if (choices != choices_) {
    choices_ = choices;
    tried_ = {};
  }
  follow(history);
  auto all = space_;
  all.insert(all.end(), choices_.begin(), choices_.end());
  tried_.follow(history, all);
  Point chosen;
  for (const auto id : choices_) chosen.push_back({id, alone_.one(history, number, id)});
  return {draw(history, number, chosen), generation_};
}

// Steps that round to nothing would try the same again and again: then longer ones are taken, until they lead
// somewhere new or enough were drawn. A least step for each axis (CMA-ES with margin, Hamano et al. 2022)
// would not be enough: it still repeats itself.
Point CmaSampler::draw(const History& history, TrialNumber number, const Point& choices) const {
  Random random({seed_, number, 0x636d61});
  auto normals = even_normals(number);
  double stretch = 1;
  for (int tries = 0;; ++tries, stretch *= longer) {
    const auto position = cma_->sample(normals, random, stretch);
    Point point;
    for (std::size_t i = 0; i < space_.size(); ++i)
      point.push_back({space_[i], history.parameter(space_[i]).axis.value(position[i])});
    point.insert(point.end(), choices.begin(), choices.end());
    std::vector<double> values;
    for (const auto& assigned : point) values.push_back(assigned.value);
    if (tries == most_redraws || !tried_.contains(values)) return point;
    for (auto& normal : normals) normal = random.normal();
  }
}

// Steps in directions that are spread evenly find the way with fewer trials than those by chance (Teytaud and
// Gelly 2007).
std::vector<double> CmaSampler::even_normals(TrialNumber number) const {
  std::vector<double> normals(space_.size());
  for (std::uint32_t i = 0; i < normals.size(); ++i) {
    const double share = sobol(seed_ ^ 0x636d61, static_cast<std::uint32_t>(number), i);
    normals[i] = normal_quantile(std::clamp(share, 1e-9, 1 - 1e-9));
  }
  return normals;
}

std::vector<double> CmaSampler::start(const History& history) const {
  std::vector<double> mean(space_.size(), 0.5);
  if (restarts_ > 0) {
    Random random({seed_, restarts_, 0x69706f70});
    for (auto& position : mean) position = random.uniform();
  } else if (const auto best = best_trials(history); settings_.from_best && !best.empty()) {
    const auto& trial = history.trial(best[0]);
    for (std::size_t i = 0; i < space_.size(); ++i)
      if (const auto* assigned = find(trial.point, space_[i]))
        mean[i] = history.parameter(space_[i]).axis.position(assigned->value);
  }
  return mean;
}

void CmaSampler::begin(const History& history) {
  const auto usual = settings_.population > 0 ? settings_.population : usual_population(space_.size());
  cma_.emplace(start(history), settings_.deviation, usual << std::min<std::uint64_t>(restarts_, 8));
  results_.clear();
}

void CmaSampler::follow(const History& history) {
  const auto changes = history.changes_from(cursor_);
  cursor_ += changes.size();
  counted_.resize(history.trials().size());
  for (const auto index : changes) {
    const auto& trial = history.trials()[index];
    if (trial.generation != generation_ || trial.state != TrialState::complete || counted_[index]) continue;
    counted_[index] = true;
    Cma::Result result{violation(trial) > 0 ? HUGE_VAL : history.loss(trial), {}};
    for (const auto id : space_)
      if (const auto* assigned = find(trial.point, id))
        result.position.push_back(history.parameter(id).axis.position(assigned->value));
    if (result.position.size() != space_.size()) continue;
    results_.push_back(std::move(result));
    if (results_.size() < cma_->population()) continue;
    cma_->update(std::exchange(results_, {}));
    ++generation_;
    if (settings_.restarts && cma_->is_done()) {
      ++restarts_;
      begin(history);
    }
  }
}

}  // namespace longship::study
