// SPDX-License-Identifier: Apache-2.0
// Chooses the sampler by what the space is and by how many trials there are.
#pragma once
#include <cstdint>

#include "cma_sampler.h"
#include "gp.h"
#include "nsga.h"
#include "sampler.h"
#include "tpe.h"

namespace longship::study {

// - several objectives: TPE, and NSGA-II once there are many trials;
// - parameters that only some trials have, or very many of them: TPE;
// - otherwise a Gaussian process, and every fourth trial TPE, as long as that is quick; then CMA-ES from the
//   best place found, or TPE if there are choices.
class AutoSampler : public Sampler {
 public:
  explicit AutoSampler(std::uint64_t seed);
  Plan plan(const History& history, TrialNumber number, std::span<const ParameterId> space) override;
  double one(const History& history, TrialNumber number, ParameterId parameter) override;

 private:
  [[nodiscard]] Sampler& chosen(const History& history, TrialNumber number,
                                std::span<const ParameterId> space);

  TpeSampler tpe_;
  GpSampler gp_;
  CmaSampler cma_;
  NsgaSampler nsga_;
};

}  // namespace longship::study
