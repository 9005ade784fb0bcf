// SPDX-License-Identifier: Apache-2.0
// The normal distribution, also far out in its tails, where naive formulas are 0 / 0.
#pragma once

namespace longship::study {

[[nodiscard]] double normal_cdf(double x);
[[nodiscard]] double normal_quantile(double p);  // p in (0, 1)
// log of the probability between a and b, a < b.
[[nodiscard]] double log_normal_mass(double a, double b);
// The number at which the distribution restricted to [a, b] has come to the share q of its mass.
[[nodiscard]] double truncated_normal_quantile(double q, double a, double b);

}  // namespace longship::study
