// SPDX-License-Identifier: Apache-2.0
// Element-wise arithmetic on buffers: what an all-reduce does between sending and receiving.
// f16 and bf16 are added in f32 and rounded to nearest even; integers wrap.
#pragma once
#include <cstddef>

#include "element.h"

namespace longship::collective {

// out[i] = a[i] op b[i]; out may be a or b. An average is a sum until divide().
void combine(Type type, Op op, void* out, const void* a, const void* b, std::size_t count);

// values[i] /= divisor: turns a sum over that many ranks into their average. Integers are rounded towards
// zero.
void divide(Type type, void* values, std::size_t count, int divisor);

namespace detail {
[[nodiscard]] float from_half(std::uint16_t bits);
[[nodiscard]] std::uint16_t to_half(float value);
[[nodiscard]] float from_bfloat(std::uint16_t bits);
[[nodiscard]] std::uint16_t to_bfloat(float value);
}  // namespace detail

}  // namespace longship::collective
