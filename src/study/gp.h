// SPDX-License-Identifier: Apache-2.0
// Bayesian optimisation: a Gaussian process of what is known, and the place where the expected improvement is
// largest; where that is in a basin which has been searched to its end, mostly the place where it is largest
// without all that is known of there (exhausted.h). For expensive objectives: hundreds of trials, some twenty
// parameters.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "exhausted.h"
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
  // A process and when its lengths are looked for again: they change little from one trial to the next.
  struct Learner {
    std::optional<GaussianProcess> process;
    std::size_t known = 0, next_fit = 0;  // numbers of points

    void learn(std::span<const double> points, std::span<const double> targets, bool noiseless);
  };

  [[nodiscard]] Known gather(const History& history, const Space& space, TrialNumber asking) const;
  void begin(const Axes& axes, const Space& space);
  void learn(Known& known);
  [[nodiscard]] std::vector<double> best_place(const Axes& axes, const GaussianProcess& process,
                                               const Known& known, TrialNumber number,
                                               const Exhausted* closed) const;
  [[nodiscard]] std::vector<double> place_beyond(const Axes& axes, const Known& known,
                                                 const Exhausted& exhausted, TrialNumber number);

  std::uint64_t seed_;
  GpSettings settings_;
  TpeSampler alone_;
  Space space_;             // that the processes are for
  Learner whole_, beyond_;  // of all that is known, and of what is outside of exhausted basins
};

}  // namespace longship::study
