// SPDX-License-Identifier: Apache-2.0
#include "tried.h"

#include <algorithm>
#include <utility>

namespace longship::study {
namespace {

std::vector<double> values_in(const Point& point, const std::vector<ParameterId>& space) {
  std::vector<double> values;
  for (const auto id : space) {
    const auto* assigned = find(point, id);
    if (assigned == nullptr) return {};
    values.push_back(assigned->value);
  }
  return values;
}

// Whether trials are given these parameters and no others, each with so and so many values.
bool is_all_and_countable(const History& history, const std::vector<ParameterId>& space) {
  std::size_t searched = 0;
  for (ParameterId id = 0; id < history.parameter_count(); ++id)
    searched += is_single(history.parameter(id).domain) ? 0 : 1;
  return searched == space.size() && std::all_of(space.begin(), space.end(), [&](ParameterId id) {
           return count(history.parameter(id).domain) > 0;
         });
}

}  // namespace

void Tried::follow(const History& history, const std::vector<ParameterId>& space) {
  if (!is_all_and_countable(history, space)) {
    *this = {};
    return;
  }
  const auto changes = history.changes_from(cursor_);
  cursor_ += changes.size();
  points_.resize(history.trials().size());
  for (const auto index : changes) {
    const auto& trial = history.trials()[index];
    // Of one that runs, what it will be given: what it has been given so far, others may not have read yet.
    auto point = values_in(trial.state == TrialState::running ? trial.planned : trial.point, space);
    if (point == points_[index]) continue;
    if (auto& before = points_[index]; !before.empty())
      if (const auto found = counts_.find(before); --found->second == 0) counts_.erase(found);
    if (!point.empty()) ++counts_[point];
    points_[index] = std::move(point);
  }
}

}  // namespace longship::study
