// SPDX-License-Identifier: Apache-2.0
#include "pace.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "prepare.h"

namespace longship::sweep {
namespace {

constexpr std::size_t recent = 20;  // later trials may take longer than the first

}  // namespace

Pace pace_of(const study::History& history, const StudyFile& file) {
  std::vector<std::pair<double, double>> ended;  // when, after how long
  Pace pace{0, file.budget.trials, {}};
  std::uint64_t all = 0, running = 0;
  for (const auto& trial : history.trials()) {
    if (find_remark(trial.attributes, remark::rejected) != nullptr ||
        find_remark(trial.attributes, remark::taken_from) != nullptr)
      continue;
    ++all;
    running += trial.state == study::TrialState::running ? 1 : 0;
    pace.over += is_finished(trial.state) ? 1 : 0;
    if (is_finished(trial.state) && trial.begun > 0 && trial.ended >= trial.begun)
      ended.emplace_back(trial.ended, trial.ended - trial.begun);
  }
  if (is_scan(file)) pace.expected = pace.expected == 0 ? all : std::min(pace.expected, all);
  if (running == 0 || ended.size() < 3 || pace.expected <= pace.over) return pace;
  std::sort(ended.rbegin(), ended.rend());
  ended.resize(std::min(recent, ended.size()));
  double each = 0;
  for (const auto& [_, took] : ended) each += took / static_cast<double>(ended.size());
  // By how long trials take, not by when they ended: a study may have rested for a night.
  pace.left = each * static_cast<double>(pace.expected - pace.over) / static_cast<double>(running);
  return pace;
}

}  // namespace longship::sweep
