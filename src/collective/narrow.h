// SPDX-License-Identifier: Apache-2.0
// f32 as f16 or bf16 and back: rounded to nearest even, NaN stays NaN, what is too large becomes infinite.
#pragma once
#include <cstddef>
#include <span>

#include "element.h"

namespace longship::collective {

// `to` is f16 or bf16; `out` has room for two bytes per value.
void narrow(Type to, std::span<const float> values, std::byte* out);
void widen(Type from, const std::byte* narrowed, std::span<float> values);

// As if narrowed and widened again.
void round_to(Type to, std::span<float> values);

}  // namespace longship::collective
