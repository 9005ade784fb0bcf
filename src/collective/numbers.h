// SPDX-License-Identifier: Apache-2.0
// What is done to a whole tensor before and after ranks reduce it.
#pragma once
#include <cstddef>
#include <span>

#include "element.h"

namespace longship::collective {

// values[i] *= factor. Integers are rounded towards zero, and wrap; booleans are left alone.
void scale(Type type, void* values, std::size_t count, double factor);

// What does not change the result of `op`: 0, 1, or the end of the type's range.
void fill_neutral(Type type, Op op, void* values, std::size_t count);

// How many are NaN, of floating types. Large tensors are looked at in samples, for a whole look would cost as
// much as reducing them: a result of 0 then means that none was met.
[[nodiscard]] std::size_t count_nan(Type type, const void* values, std::size_t count);

// Of two vectors: <a, b>, <a, a>, <b, b>.
struct Products {
  double ab = 0, aa = 0, bb = 0;
};
[[nodiscard]] Products products(Type type, const void* a, const void* b, std::size_t count);

// out[i] = x * a[i] + y * b[i]; out may be a or b.
void mix(Type type, void* out, double x, const void* a, double y, const void* b, std::size_t count);

}  // namespace longship::collective
