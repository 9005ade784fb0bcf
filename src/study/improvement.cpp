// SPDX-License-Identifier: Apache-2.0
#include "improvement.h"

#include <cmath>
#include <numbers>

#include "normal.h"

namespace longship::study {
namespace {

constexpr double far_out = -20;

// cdf / density
double mills(double z) {
  if (z > far_out) return normal_cdf(z) * std::sqrt(2 * std::numbers::pi) * std::exp(z * z / 2);
  const double s = 1 / (z * z);
  return -(1 - s * (1 - s * (3 - s * 15))) / z;
}

}  // namespace

// With z = (best - mean) / deviation the improvement is deviation * (density(z) + z * cdf(z)).
Improvement log_expected_improvement(double best, double mean, double deviation) {
  const double z = (best - mean) / deviation;
  if (z > 6) {  // the density is gone, the cdf is 1
    const double gain = best - mean;
    return {std::log(gain), -1 / gain, 0};
  }
  const double ratio = mills(z);
  const double s = 1 / (z * z);
  const double sum = z > far_out ? 1 + z * ratio : s * (1 - s * (3 - s * 15));  // over the density
  const double log = std::log(deviation) - z * z / 2 - 0.5 * std::log(2 * std::numbers::pi) + std::log(sum);
  return {log, -ratio / (deviation * sum), 1 / (deviation * sum)};
}

}  // namespace longship::study
