// SPDX-License-Identifier: Apache-2.0
// The two inner loops of a Parzen estimator, over plain arrays so that the compiler makes vectors of them.
#pragma once
#include <span>

namespace longship::study {

// terms[i] -= (x * scale[i] - shift[i])^2
void subtract_squares(float x, const float* scale, const float* shift, std::span<float> terms);

// log(sum(exp(terms))), right to about six digits; the terms are used up.
[[nodiscard]] double log_sum_of_exponentials(std::span<float> terms);

}  // namespace longship::study
