// SPDX-License-Identifier: Apache-2.0
// Element-wise arithmetic on buffers: what an all-reduce does between sending and receiving.
// f16 and bf16 are added in f32 and rounded to nearest even; integers wrap.
//
// The loops are compiled several times, for AVX-512, AVX2 and for what every processor of the architecture
// has (which includes NEON on aarch64 and VSX on ppc64le), and chosen when the program starts. All give the
// same bits.
#pragma once
#include <cstddef>
#include <span>

#include "element.h"
#include "half.h"

namespace longship::collective {

// out[i] = a[i] op b[i]; out may be a or b. An average is a sum until divide().
void combine(Type type, Op op, void* out, const void* a, const void* b, std::size_t count);

// values[i] /= divisor: turns a sum over that many ranks into their average. Integers are rounded towards
// zero.
void divide(Type type, void* values, std::size_t count, int divisor);

// Every output becomes inputs[0] op inputs[1] op …, in this order, for an average divided by how many there
// are; outputs may be inputs. Passes through memory once, however many there are. True if there is a NaN
// among the results.
bool combine_all(Type type, Op op, std::span<const std::byte* const> inputs,
                 std::span<std::byte* const> outputs, std::size_t count);

// Whether any of the values is not a number; integers always are.
[[nodiscard]] bool contains_nan(Type type, const void* values, std::size_t count);

// Which instructions the loops use. Tests choose weaker ones; what the processor lacks is not taken.
enum class Instructions { portable, avx2, avx512 };
[[nodiscard]] Instructions instructions();
void use_at_most(Instructions most);

}  // namespace longship::collective
