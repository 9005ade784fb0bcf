// SPDX-License-Identifier: Apache-2.0
// How the next values are chosen. A sampler only computes: what it knows is the history, what it returns is
// numbers, and with the same seed and history the same ones. It may keep what it has worked out, and
// brings that up to date from the history's changes.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "history.h"
#include "options.h"

namespace longship::study {

struct Plan {
  Point point;  // values for some or all of the parameters that were asked for
  std::int64_t generation = -1;
};

class Sampler {
 public:
  virtual ~Sampler() = default;
  // Once for each new trial: what can be chosen together. `space` has no parameter with a single value.
  [[nodiscard]] virtual Plan plan(const History& history, TrialNumber number,
                                  std::span<const ParameterId> space) = 0;
  // Any parameter that no plan has: a new one, or one that only some trials have.
  [[nodiscard]] virtual double one(const History& history, TrialNumber number, ParameterId parameter) = 0;
};

// random, sobol, grid, tpe, gp, cmaes, nsga2, auto. Each takes its own options, and an unknown one is an
// Error.
[[nodiscard]] std::unique_ptr<Sampler> make_sampler(std::string_view name, std::uint64_t seed,
                                                    const Options& options = {});

}  // namespace longship::study
