// SPDX-License-Identifier: Apache-2.0
#include "normal.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace longship::study {
namespace {

template <std::size_t n>
double polynomial(const std::array<double, n>& coefficients, double x) {
  double sum = 0;
  for (const double coefficient : coefficients) sum = sum * x + coefficient;
  return sum;
}

// Acklam's rational approximation, right to 1e-9; one step of Halley's then makes it exact.
double rough_quantile(double p) {
  static constexpr std::array a{-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                                1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  static constexpr std::array b{-5.447609879822406e+01, 1.615858368580409e+02,  -1.556989798598866e+02,
                                6.680131188771972e+01,  -1.328068155288572e+01, 1.0};
  static constexpr std::array c{-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                                -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  static constexpr std::array d{7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                                3.754408661907416e+00, 1.0};
  if (p < 0.02425) {
    const double q = std::sqrt(-2 * std::log(p));
    return polynomial(c, q) / polynomial(d, q);
  }
  if (p > 1 - 0.02425) return -rough_quantile(1 - p);
  const double q = p - 0.5;
  return polynomial(a, q * q) * q / polynomial(b, q * q);
}

}  // namespace

double normal_cdf(double x) {
  return 0.5 * std::erfc(-x / std::numbers::sqrt2);
}

double normal_quantile(double p) {
  const double x = rough_quantile(p);
  const double error = (normal_cdf(x) - p) * std::sqrt(2 * std::numbers::pi) * std::exp(x * x / 2);
  return x - error / (1 + x * error / 2);
}

double log_normal_mass(double a, double b) {
  if (a > 0) return log_normal_mass(-b, -a);  // erfc keeps its digits on the left
  const double mass = normal_cdf(b) - normal_cdf(a);
  if (mass > 1e-300) return std::log(mass);
  // So far out that it is a thin edge: the density at its nearer end times what is left of its decay.
  const double edge = std::min(-b, 38.0);
  return -edge * edge / 2 - std::log(std::max(edge, 1.0)) - 0.5 * std::log(2 * std::numbers::pi);
}

double truncated_normal_quantile(double q, double a, double b) {
  if (a > 0) return -truncated_normal_quantile(1 - q, -b, -a);
  const double begin = normal_cdf(a), end = normal_cdf(b);
  const double p = begin + q * (end - begin);
  if (!(p > std::numeric_limits<double>::min()) || p >= 1) return p >= 1 ? b : std::clamp(b, a, b);
  return std::clamp(normal_quantile(p), a, b);
}

}  // namespace longship::study
