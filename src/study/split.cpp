// SPDX-License-Identifier: Apache-2.0
#include "split.h"

#include <algorithm>
#include <cmath>

#include "pareto.h"

namespace longship::study {

void Split::follow(const History& history) {
  const auto changes = history.changes_from(cursor_);
  cursor_ += changes.size();
  sides_.resize(history.trials().size(), Side::none);
  for (const auto index : changes) place(history, index);
  if (changes.empty()) return;
  if (history.objectives() > 1) rank_by_fronts(history);
  draw_line(history);
}

std::vector<std::size_t> Split::good() const {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < good_; ++i) indices.push_back(ranked_[i].index);
  return indices;
}

Split::Ranked Split::ranked() const {
  Ranked ranked;
  for (const auto& key : ranked_) {
    ranked.indices.push_back(key.index);
    ranked.valid += key.group == 0 ? 1 : 0;
  }
  return ranked;
}

Split::Key Split::key_of(const History& history, std::uint32_t index) {
  const auto& trial = history.trials()[index];
  if (const double excess = violation(trial); excess > 0) return {2, excess, 0, index};
  if (trial.state == TrialState::complete) return {0, history.loss(trial), 0, index};
  if (trial.reports.empty()) return {1, 1, 0, index};
  const auto& [step, value] = *trial.reports.rbegin();
  const double loss = history.signed_value(value);
  return {1, -static_cast<double>(step), std::isnan(loss) ? HUGE_VAL : loss, index};
}

void Split::place(const History& history, std::uint32_t index) {
  const auto& trial = history.trials()[index];
  std::erase_if(ranked_, [&](const Key& key) { return key.index == index; });
  sides_[index] = Side::none;
  if (trial.state == TrialState::running && avoid_running_) sides_[index] = Side::rest;
  if (trial.state != TrialState::complete && trial.state != TrialState::pruned) return;
  const auto key = key_of(history, index);
  ranked_.insert(std::lower_bound(ranked_.begin(), ranked_.end(), key), key);
}

void Split::rank_by_fronts(const History& history) {
  std::vector<std::vector<double>> losses;
  std::vector<Key*> complete;
  for (auto& key : ranked_) {
    const auto& trial = history.trials()[key.index];
    if (key.group != 0) continue;
    complete.push_back(&key);
    losses.emplace_back();
    for (std::size_t i = 0; i < history.objectives(); ++i) losses.back().push_back(history.loss(trial, i));
  }
  const auto ranking = rank_by_dominance(losses);
  for (std::size_t i = 0; i < complete.size(); ++i) {
    complete[i]->first = static_cast<double>(ranking[i].front);
    complete[i]->second = -ranking[i].crowding;  // the lonely ones first
  }
  std::sort(ranked_.begin(), ranked_.end());
}

void Split::draw_line(const History& history) {
  auto good = static_cast<std::size_t>(std::ceil(0.1 * static_cast<double>(ranked_.size())));
  if (history.objectives() == 1) good = std::min<std::size_t>(good, 25);
  good_ = good;
  for (std::size_t i = 0; i < ranked_.size(); ++i)
    sides_[ranked_[i].index] = i < good ? Side::good : Side::rest;
}

}  // namespace longship::study
