// SPDX-License-Identifier: Apache-2.0
// How much better a place may be than all that is known, foretold from some tens of trials: a Gaussian
// process for who asks often and has no time to fit one (gaussian.h does). Trials are alike in each dimension
// by itself, or in all of them together, over one of three lengths: whatever makes the known losses
// likeliest. Lengths are in units of how far the trials are apart in a dimension, so that trials near the
// best make a map of that corner.
//
// It keeps nothing from one question to the next. Eigen stays in the .cpp.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "domain.h"

namespace longship::study {

struct Known {
  std::vector<double> points;        // values, one for each axis; one point behind the other
  std::vector<double> losses;        // of each point
  std::optional<std::size_t> rival;  // index of the one to improve on, if it is not the best
};

// log of the expected improvement on the least loss, or on that of the rival, in deviations; of each place.
// Nothing if there is nothing to be learnt: fewer than three points, half of the losses the least, or some of
// them infinite.
[[nodiscard]] std::vector<double> log_improvements(const std::vector<Axis>& axes, const Known& known,
                                                   std::span<const double> places);

}  // namespace longship::study
