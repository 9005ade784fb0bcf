// SPDX-License-Identifier: Apache-2.0
#include "auto_sampler.h"

#include <algorithm>

namespace longship::study {
namespace {

// The process sees most; TPE what is small beside terrible losses, long curved valleys, and where nothing is
// smooth. Each learns from what the other finds, so that both together come as near as the better one alone,
// and nearer where neither is right.
constexpr TrialNumber every_for_tpe = 4;

constexpr std::size_t gp_trials = 300, gp_parameters = 25, tpe_trials_of_several = 500;

CmaSettings from_best() {
  CmaSettings settings;
  settings.from_best = true;
  settings.deviation = 0.05;
  return settings;
}

}  // namespace

AutoSampler::AutoSampler(std::uint64_t seed)
    : tpe_(seed, {}), gp_(seed, {}), cma_(seed, from_best()), nsga_(seed, {}) {}

Sampler& AutoSampler::chosen(const History& history, TrialNumber number, std::span<const ParameterId> space) {
  const auto trials = history.finished_count();
  if (history.objectives() > 1) {
    if (trials < tpe_trials_of_several) return tpe_;
    return nsga_;
  }
  if (space.size() > gp_parameters) return tpe_;
  if (trials < gp_trials) return number % every_for_tpe == 1 ? static_cast<Sampler&>(tpe_) : gp_;
  const bool choices = std::any_of(space.begin(), space.end(),
                                   [&](ParameterId id) { return history.parameter(id).axis.is_category(); });
  if (choices) return tpe_;
  return cma_;
}

Plan AutoSampler::plan(const History& history, TrialNumber number, std::span<const ParameterId> space) {
  return chosen(history, number, space).plan(history, number, space);
}

double AutoSampler::one(const History& history, TrialNumber number, ParameterId parameter) {
  if (history.objectives() > 1) return tpe_.one(history, number, parameter);
  return gp_.one(history, number, parameter);  // an even spread at first, TPE then
}

}  // namespace longship::study
