// SPDX-License-Identifier: Apache-2.0
// CMA-ES as a sampler: trials belong to generations, and when one is complete the distribution moves on. All
// of it follows from the history, so that processes which share a journal share the evolution too. When
// nothing more is to be had it begins anew elsewhere, with twice the population (IPOP, Auger and Hansen
// 2005).
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "cma.h"
#include "sampler.h"
#include "tpe.h"
#include "tried.h"

namespace longship::study {

struct CmaSettings {
  std::size_t startup = 1;     // random trials before it begins
  double deviation = 1.0 / 6;  // of the range
  std::size_t population = 0;  // 0: by the number of parameters
  bool restarts = true;
  bool from_best = false;  // begins at the best place known so far, not in the middle
};

class CmaSampler : public Sampler {
 public:
  CmaSampler(std::uint64_t seed, CmaSettings settings);
  Plan plan(const History& history, TrialNumber number, std::span<const ParameterId> space) override;
  double one(const History& history, TrialNumber number, ParameterId parameter) override;

 private:
  using Space = std::vector<ParameterId>;
  void begin(const History& history);
  void follow(const History& history);
  [[nodiscard]] Point draw(const History& history, TrialNumber number, const Point& choices) const;
  [[nodiscard]] std::vector<double> even_normals(TrialNumber number) const;
  [[nodiscard]] std::vector<double> start(const History& history) const;

  std::uint64_t seed_;
  CmaSettings settings_;
  TpeSampler alone_;
  Space space_, choices_;  // the numbers, and what TPE chooses for them
  Tried tried_;            // of both, one behind the other
  std::optional<Cma> cma_;
  std::vector<Cma::Result> results_;  // of the current generation
  std::int64_t generation_ = 0;
  std::uint64_t restarts_ = 0;
  std::size_t cursor_ = 0;
  std::vector<bool> counted_;  // trials, by index: one may change again after it has ended
};

}  // namespace longship::study
