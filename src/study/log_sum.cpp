// SPDX-License-Identifier: Apache-2.0
#include "log_sum.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace longship::study {
namespace {

constexpr std::size_t lanes =
    16;  // independent sums: adding floats in another order is not the compiler's to decide

// exp(x) for x <= 0: 2^whole by its bits, 2^part by a polynomial.
inline float exponential(float x) {
  constexpr float to_integer = 12582912.F;  // 1.5 * 2^23: what is added to it is rounded to a whole number
  const float power = std::max(x, -87.F) * 1.44269504F;
  const float shifted = power + to_integer;
  const float part = power - (shifted - to_integer);
  float result = 1.33336e-3F;
  result = result * part + 9.618129e-3F;
  result = result * part + 5.5504109e-2F;
  result = result * part + 2.40226507e-1F;
  result = result * part + 6.93147181e-1F;
  result = result * part + 1.F;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(result) +
                              (std::bit_cast<std::uint32_t>(shifted) << 23));
}

float largest(std::span<const float> terms) {
  std::array<float, lanes> best;
  best.fill(-std::numeric_limits<float>::max());
  std::size_t i = 0;
  for (; i + lanes <= terms.size(); i += lanes)
    for (std::size_t lane = 0; lane < lanes; ++lane)
      best[lane] = best[lane] < terms[i + lane] ? terms[i + lane] : best[lane];
  for (; i < terms.size(); ++i) best[0] = std::max(best[0], terms[i]);
  return *std::max_element(best.begin(), best.end());
}

}  // namespace

void subtract_squares(float x, const float* scale, const float* shift, std::span<float> terms) {
  float* const to = terms.data();
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const float root = x * scale[i] - shift[i];
    to[i] -= root * root;
  }
}

double log_sum_of_exponentials(std::span<float> terms) {
  const float top = largest(terms);
  for (auto& term : terms) term = exponential(term - top);
  std::array<float, lanes> sums{};
  std::size_t i = 0;
  for (; i + lanes <= terms.size(); i += lanes)
    for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += terms[i + lane];
  double sum = 0;
  for (; i < terms.size(); ++i) sum += static_cast<double>(terms[i]);
  for (const float part : sums) sum += static_cast<double>(part);
  return static_cast<double>(top) + std::log(sum);
}

}  // namespace longship::study
