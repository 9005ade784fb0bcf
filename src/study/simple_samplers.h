// SPDX-License-Identifier: Apache-2.0
// Samplers that do not look at results: random, Sobol's sequence, a grid.
#pragma once
#include <cstdint>
#include <span>

#include "sampler.h"

namespace longship::study {

// What every sampler does as long as it knows nothing. Depends on seed, trial and the parameter's name only.
[[nodiscard]] double random_value(std::uint64_t seed, TrialNumber number, const Parameter& parameter);

// By Sobol's sequence: the trial's number is the point, the parameter's the dimension, so that nothing has to
// be known in advance.
[[nodiscard]] double even_value(std::uint64_t seed, TrialNumber number, ParameterId id,
                                const Parameter& parameter);

class RandomSampler : public Sampler {
 public:
  explicit RandomSampler(std::uint64_t seed) : seed_(seed) {}
  Plan plan(const History&, TrialNumber, std::span<const ParameterId>) override { return {}; }
  double one(const History& history, TrialNumber number, ParameterId parameter) override;

 private:
  std::uint64_t seed_;
};

class SobolSampler : public Sampler {
 public:
  explicit SobolSampler(std::uint64_t seed) : seed_(seed) {}
  Plan plan(const History&, TrialNumber, std::span<const ParameterId>) override { return {}; }
  double one(const History& history, TrialNumber number, ParameterId parameter) override;

 private:
  std::uint64_t seed_;
};

// All combinations: trial n is the n-th of them, and the parameter that was seen first changes fastest. Reals
// without steps get `points` values, ends included: with one parameter that is a linear scan. After the last
// combination it begins again.
class GridSampler : public Sampler {
 public:
  explicit GridSampler(std::uint64_t points) : points_(points) {}
  Plan plan(const History&, TrialNumber, std::span<const ParameterId>) override { return {}; }
  double one(const History& history, TrialNumber number, ParameterId parameter) override;
  [[nodiscard]] std::uint64_t points_of(const Domain& domain) const;

 private:
  std::uint64_t points_;
};

}  // namespace longship::study
