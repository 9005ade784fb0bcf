// SPDX-License-Identifier: Apache-2.0
// How much better than the best so far a place may be: the logarithm of the expected improvement (Ament et
// al. 2023), which has a slope also where the improvement itself is as good as 0.
#pragma once

namespace longship::study {

struct Improvement {
  double log = 0;
  double by_mean = 0, by_deviation = 0;  // its slopes
};

[[nodiscard]] Improvement log_expected_improvement(double best, double mean, double deviation);

}  // namespace longship::study
