// SPDX-License-Identifier: Apache-2.0
// How much of the objective's variation each parameter explains by itself: functional analysis of variance
// over a random forest (Hutter, Hoos, Leyton-Brown 2014). A tree cuts the space into boxes, each with one
// value, so that the mean over all other parameters is a sum over boxes and not an estimate.
#pragma once
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "history.h"

namespace longship::study {

// The parameters' names with their shares, largest first; they sum to 1. Empty with fewer than four complete
// trials, or if all of them have the same value. Parameters that a trial does not have are in the middle of
// their range there.
[[nodiscard]] std::vector<std::pair<std::string, double>> importance(const History& history,
                                                                     std::size_t objective = 0);

}  // namespace longship::study
