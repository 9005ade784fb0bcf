// SPDX-License-Identifier: Apache-2.0
// The tree-structured Parzen estimator (Bergstra et al. 2011; Watanabe 2023): one density for the good
// trials, one for the rest; of some draws from the first the one is taken that is likeliest good.
//
// Densities say which trials are good, not how good, and settle around whatever was best early. So the draws
// are also judged by what is foretold of their values (forecast.h). Of seven trials one goes where in the
// whole space the forecast promises most; up to three, the fewer the more trials there are, go down where
// else it goes down (basins.h).
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "basins.h"
#include "forecast.h"
#include "parzen.h"
#include "sampler.h"
#include "split.h"
#include "tried.h"

namespace longship::study {

struct TpeSettings {
  std::size_t startup = 10;      // trials that are random before it begins
  std::size_t candidates = 24;   // draws
  std::optional<bool> together;  // all common parameters at once; if not said: with one objective
  double sharpness = 1.5;        // of the good ones' kernels (parzen.h)
  bool even_startup = true;      // by Sobol's sequence, not by chance
  bool avoid_running = true;     // "constant liar": running trials count as bad ones
  bool foretell = true;          // with one objective, where all parameters are drawn together
};

class TpeSampler : public Sampler {
 public:
  TpeSampler(std::uint64_t seed, TpeSettings settings);
  Plan plan(const History& history, TrialNumber number, std::span<const ParameterId> space) override;
  double one(const History& history, TrialNumber number, ParameterId parameter) override;

 private:
  using Space = std::vector<ParameterId>;

  // Both densities over one set of parameters, and which trial is in which.
  struct Estimator {
    Parzen good, rest;
    std::vector<Side> sides;
    Tried tried;
  };

  enum class View { none, near, everywhere, elsewhere };  // of the forecast

  Estimator& estimator_of(const History& history, const Space& space, TrialNumber asking);
  [[nodiscard]] View view_of(const History& history, TrialNumber number) const;
  std::vector<double> best_draw(const History& history, const Space& space, TrialNumber number, View view);
  // In another basin than that of the best; nothing if none is worth it.
  [[nodiscard]] std::vector<double> draw_elsewhere(const History& history, const Space& space,
                                                   const Estimator& estimator, TrialNumber number) const;
  [[nodiscard]] std::vector<double> merits(const History& history, const Space& space,
                                           const Estimator& estimator, View view,
                                           std::span<const double> draws) const;
  [[nodiscard]] std::optional<double> bad_loss(const History& history) const;
  [[nodiscard]] Known known(const History& history, const Space& space, View view) const;
  [[nodiscard]] Landscape landscape(const History& history, const Space& space, TrialNumber asking) const;
  void weigh_by_rank(Estimator& estimator) const;
  void move(const History& history, const Space& space, Estimator& estimator, std::size_t index,
            Side to) const;

  std::uint64_t seed_;
  TpeSettings settings_;
  Split split_;
  std::map<Space, Estimator> estimators_;
};

}  // namespace longship::study
