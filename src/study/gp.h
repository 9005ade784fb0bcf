// SPDX-License-Identifier: Apache-2.0
// Bayesian optimisation: a Gaussian process of what is known, and the place where the expected improvement is
// largest; every third trial goes down where else it goes down (basins.h). For expensive objectives: hundreds
// of trials, some twenty parameters.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "gaussian.h"
#include "sampler.h"
#include "tpe.h"

namespace longship::study {

struct GpSettings {
  std::size_t startup = 10;  // trials by Sobol's sequence before it begins
  bool noiseless = false;
  std::size_t most_points = 300;  // what it learns from: the best and the newest
};

class GpSampler : public Sampler {
 public:
  GpSampler(std::uint64_t seed, GpSettings settings);
  Plan plan(const History& history, TrialNumber number, std::span<const ParameterId> space) override;
  double one(const History& history, TrialNumber number, ParameterId parameter) override;

 private:
  using Space = std::vector<ParameterId>;
  struct Known {
    std::vector<double> points, targets;  // of complete trials
    std::vector<double> running;          // points
  };
  struct Axes;

  [[nodiscard]] Known gather(const History& history, const Space& space, TrialNumber asking) const;
  void learn(const History& history, const Space& space, Known& known);
  [[nodiscard]] std::vector<double> best_place(const Axes& axes, const GaussianProcess& process,
                                               const Known& known, TrialNumber number) const;
  [[nodiscard]] std::optional<std::vector<double>> place_elsewhere(const Axes& axes,
                                                                   const GaussianProcess& process,
                                                                   const Known& known,
                                                                   TrialNumber number) const;

  std::uint64_t seed_;
  GpSettings settings_;
  TpeSampler alone_;
  Space space_;  // that the process is for
  std::optional<GaussianProcess> process_;
  std::size_t next_fit_ = 0;  // number of points from which the lengths are looked for again
};

}  // namespace longship::study
