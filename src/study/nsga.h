// SPDX-License-Identifier: Apache-2.0
// NSGA-II (Deb et al. 2002) for several objectives and cheap trials, without generations that wait for each
// other: each new trial is a child of two of the best so far.
#pragma once
#include <cstdint>
#include <vector>

#include "sampler.h"

namespace longship::study {

struct NsgaSettings {
  std::size_t population = 50;
  double crossover = 0.9;  // chance that a child has two parents
  double swapping = 0.5;   // and of each of its values to be the second one's
  double mutation = 0;     // chance of each value to change; 0: one in each child, on average
};

class NsgaSampler : public Sampler {
 public:
  NsgaSampler(std::uint64_t seed, NsgaSettings settings) : seed_(seed), settings_(settings) {}
  Plan plan(const History& history, TrialNumber number, std::span<const ParameterId> space) override;
  double one(const History& history, TrialNumber number, ParameterId parameter) override;

 private:
  [[nodiscard]] std::vector<std::size_t> parents(const History& history,
                                                 std::span<const ParameterId> space) const;

  std::uint64_t seed_;
  NsgaSettings settings_;
};

}  // namespace longship::study
